// The evaluator: statements write to one text, expressions give values. Variables live in a stack of scopes:
// the template's own and one for each run of a loop's body; `if` opens none, as in Jinja.
#include "text/jinja_eval.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "text/jinja_builtins.h"

namespace warpfold::text::jinja {
namespace {

using Scope = std::vector<std::pair<std::string, Value>>;

class Evaluator {
 public:
  Evaluator(Scope globals, Work& work) : work_(work) { scopes_.push_back(std::move(globals)); }

  Status run(const Body& body) {
    for (const auto& stmt : body) WF_CHECK(run(*stmt));
    return {};
  }

  Text out;

 private:
  // --- statements
  Status run(const Stmt& stmt) {
    work_.line = stmt.line;
    WF_CHECK(work_.steps(1));
    switch (stmt.kind) {
      case StmtKind::kText:
        WF_CHECK(work_.bytes(stmt.text.size()));
        out.append(stmt.text);
        return {};
      case StmtKind::kPrint: {
        WF_TRY(const Value value, eval(*stmt.expr));
        WF_TRY(const Text text, to_text(work_, value));
        out.append(text);
        return {};
      }
      case StmtKind::kIf:
        for (const auto& [condition, body] : stmt.branches) {
          WF_TRY(const Value value, eval(*condition));
          if (value.truthy()) return run(body);
        }
        return run(stmt.otherwise);
      case StmtKind::kFor:
        return run_for(stmt);
      case StmtKind::kSet:
        return run_set(stmt);
    }
    return {};
  }

  Status run_set(const Stmt& stmt) {
    WF_TRY(Value value, eval(*stmt.expr));
    work_.line = stmt.line;
    if (stmt.attribute.empty()) {
      assign(stmt.targets[0], std::move(value));
      return {};
    }
    WF_TRY(const Value target, look_up(stmt.targets[0]));
    Namespace* names = target.names();
    if (!names) return work_.error(fmt::format("'{}' is no namespace", stmt.targets[0]));
    WF_CHECK(check_storable(work_, value));
    if (Value* existing = names->find(stmt.attribute))
      *existing = std::move(value);
    else
      names->items.emplace_back(stmt.attribute, std::move(value));
    return {};
  }

  Status run_for(const Stmt& stmt) {
    WF_TRY(const Value sequence, eval(*stmt.expr));
    work_.line = stmt.line;
    WF_TRY(std::vector<Value> items, iterate(work_, sequence));
    if (stmt.filter) {
      std::vector<Value> kept;
      for (Value& item : items) {
        scopes_.emplace_back();
        const Status passed = bind_targets(stmt, item);
        Result<Value> keep =
            passed ? eval(*stmt.filter) : Result<Value>(tl::unexpected<Error>(passed.error()));
        scopes_.pop_back();
        if (!keep) return tl::unexpected<Error>(std::move(keep).error());
        if (keep->truthy()) kept.push_back(std::move(item));
      }
      items = std::move(kept);
    }
    if (items.empty()) return run(stmt.otherwise);
    for (std::size_t i = 0; i < items.size(); ++i) {
      scopes_.emplace_back();
      const Status status = run_iteration(stmt, items, i);
      scopes_.pop_back();
      WF_CHECK(status);
    }
    return {};
  }

  Status run_iteration(const Stmt& stmt, const std::vector<Value>& items, std::size_t i) {
    WF_CHECK(work_.steps(1));
    WF_TRY(Value loop, loop_variable(items, i));
    assign("loop", std::move(loop));
    WF_CHECK(bind_targets(stmt, items[i]));
    return run(stmt.body);
  }

  Result<Value> loop_variable(const std::vector<Value>& items, std::size_t i) {
    const auto index = static_cast<std::int64_t>(i), length = static_cast<std::int64_t>(items.size());
    std::vector<std::pair<Text, Value>> fields;
    const auto add = [&](std::string_view name, Value value) {
      fields.emplace_back(Text(name), std::move(value));
    };
    add("index", Value::of(index + 1));
    add("index0", Value::of(index));
    add("revindex", Value::of(length - index));
    add("revindex0", Value::of(length - index - 1));
    add("first", Value::of(i == 0));
    add("last", Value::of(i + 1 == items.size()));
    add("length", Value::of(length));
    add("previtem", i > 0 ? items[i - 1] : Value::undefined("there is no previous item"));
    add("nextitem", i + 1 < items.size() ? items[i + 1] : Value::undefined("there is no next item"));
    return make_dict(work_, std::move(fields));
  }

  Status bind_targets(const Stmt& stmt, const Value& item) {
    work_.line = stmt.line;
    if (stmt.targets.size() == 1) {
      assign(stmt.targets[0], item);
      return {};
    }
    WF_TRY(std::vector<Value> parts, iterate(work_, item));
    if (parts.size() != stmt.targets.size())
      return work_.error(fmt::format("{} values for {} loop variables", parts.size(), stmt.targets.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) assign(stmt.targets[i], std::move(parts[i]));
    return {};
  }

  // --- variables
  void assign(const std::string& name, Value value) {
    Scope& scope = scopes_.back();
    const auto found =
        std::find_if(scope.begin(), scope.end(), [&](const auto& v) { return v.first == name; });
    if (found != scope.end())
      found->second = std::move(value);
    else
      scope.emplace_back(name, std::move(value));
  }

  Result<Value> look_up(const std::string& name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      WF_CHECK(work_.steps(scope->size() / 16));
      for (const auto& [key, value] : *scope)
        if (key == name) return value;
    }
    return Value::undefined(fmt::format("'{}' is undefined", name));
  }

  // --- expressions
  Result<Value> eval(const Expr& expr) {
    work_.line = expr.line;
    WF_CHECK(work_.steps(1));
    switch (expr.kind) {
      case ExprKind::kConstant:
        return expr.value;
      case ExprKind::kName:
        return look_up(expr.name);
      case ExprKind::kList:
      case ExprKind::kTuple: {
        WF_TRY(std::vector<Value> items, eval_all(expr, 0));
        work_.line = expr.line;
        return make_list(work_, std::move(items), expr.kind == ExprKind::kTuple);
      }
      case ExprKind::kDict:
        return eval_dict(expr);
      case ExprKind::kUnary:
        return eval_unary(expr);
      case ExprKind::kBinary:
        return eval_binary(expr);
      case ExprKind::kCompare:
        return eval_compare(expr);
      case ExprKind::kConcat:
        return eval_concat(expr);
      case ExprKind::kCondition:
        return eval_condition(expr);
      case ExprKind::kAttribute:
        return eval_attribute(expr);
      case ExprKind::kItem:
        return eval_item(expr);
      case ExprKind::kSlice:
        return eval_slice(expr);
      case ExprKind::kFilter:
      case ExprKind::kTest:
      case ExprKind::kMethod:
        return eval_builtin(expr);
      case ExprKind::kFunction:
        return eval_function(expr);
    }
    return Value();
  }

  Result<std::vector<Value>> eval_all(const Expr& expr, std::size_t from) {
    std::vector<Value> values;
    for (std::size_t i = from; i < expr.args.size(); ++i) {
      WF_TRY(Value value, eval(*expr.args[i]));
      values.push_back(std::move(value));
    }
    return values;
  }

  Result<Scope> eval_named(const Expr& expr) {
    Scope named;
    for (const auto& [name, arg] : expr.named) {
      WF_TRY(Value value, eval(*arg));
      named.emplace_back(name, std::move(value));
    }
    return named;
  }

  Result<Value> eval_dict(const Expr& expr) {
    std::vector<std::pair<Text, Value>> items;
    for (std::size_t i = 0; i < expr.args.size(); i += 2) {
      WF_TRY(const Value key, eval(*expr.args[i]));
      WF_TRY(Value value, eval(*expr.args[i + 1]));
      work_.line = expr.line;
      if (!key.text())
        return work_.error(ErrorCode::kUnsupported,
                           "a mapping with keys other than strings is not supported");
      WF_CHECK(work_.steps(items.size() / 16));
      const auto same = std::find_if(items.begin(), items.end(),
                                     [&](const auto& item) { return item.first.bytes == key.text()->bytes; });
      if (same != items.end())
        same->second = std::move(value);
      else
        items.emplace_back(*key.text(), std::move(value));
    }
    return make_dict(work_, std::move(items));
  }

  Result<Value> eval_unary(const Expr& expr) {
    WF_TRY(const Value operand, eval(*expr.args[0]));
    if (expr.name == "not") return Value::of(!operand.truthy());
    work_.line = expr.line;
    std::int64_t number = 0;
    if (!operand.to_integer(number))
      return work_.error(fmt::format("unary '{}' needs a number, not {}", expr.name, describe(operand)));
    if (expr.name == "-" && __builtin_sub_overflow(std::int64_t{0}, number, &number)) return overflow();
    return Value::of(number);
  }

  static std::string describe(const Value& value) {
    if (const auto* undefined = std::get_if<Undefined>(&value.data))
      return fmt::format("undefined ({})", undefined->what);
    return std::string(value.type_name());
  }
  tl::unexpected<Error> overflow() const {
    return work_.error(ErrorCode::kUnsupported, "integers beyond 64 bits are not supported");
  }

  Result<Value> eval_binary(const Expr& expr) {
    WF_TRY(Value left, eval(*expr.args[0]));
    if (expr.name == "and" || expr.name == "or") {
      if (left.truthy() == (expr.name == "or")) return left;
      return eval(*expr.args[1]);
    }
    WF_TRY(const Value right, eval(*expr.args[1]));
    work_.line = expr.line;
    std::int64_t a = 0, b = 0;
    if (left.to_integer(a) && right.to_integer(b)) return arithmetic(expr.name[0], a, b);
    if (expr.name == "+" && left.text() && right.text()) {
      WF_CHECK(work_.bytes(left.text()->bytes.size() + right.text()->bytes.size()));
      Text sum = *left.text();
      sum.append(*right.text());
      return Value::of(std::move(sum));
    }
    if (expr.name == "+" && left.list() && right.list() && left.list()->tuple == right.list()->tuple) {
      WF_CHECK(work_.steps(left.list()->items.size() + right.list()->items.size()));
      std::vector<Value> items = left.list()->items;
      items.insert(items.end(), right.list()->items.begin(), right.list()->items.end());
      return make_list(work_, std::move(items), left.list()->tuple);
    }
    if (expr.name == "*" && left.text() && right.to_integer(b)) return repeat(*left.text(), b);
    if (expr.name == "*" && right.text() && left.to_integer(a)) return repeat(*right.text(), a);
    if (expr.name == "%" && left.text())
      return work_.error(ErrorCode::kUnsupported, "formatting with % is not supported");
    if (expr.name == "*" && (left.list() || right.list()))
      return work_.error(ErrorCode::kUnsupported, "repeating a list is not supported");
    return work_.error(fmt::format("'{}' between {} and {}", expr.name, describe(left), describe(right)));
  }

  Result<Value> arithmetic(char op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    bool overflows = false;
    switch (op) {
      case '+':
        overflows = __builtin_add_overflow(a, b, &result);
        break;
      case '-':
        overflows = __builtin_sub_overflow(a, b, &result);
        break;
      case '*':
        overflows = __builtin_mul_overflow(a, b, &result);
        break;
      default: {  // "//" and "%": rounded down, the remainder has the divisor's sign
        if (b == 0) return work_.error("division by zero");
        if (b == -1) {
          overflows = __builtin_sub_overflow(std::int64_t{0}, a, &result);
          if (op == '%') return Value::of(std::int64_t{0});
          break;
        }
        const bool down = a % b != 0 && (a < 0) != (b < 0);
        result = op == '%' ? a % b + (down ? b : 0) : a / b - (down ? 1 : 0);
      }
    }
    if (overflows) return overflow();
    return Value::of(result);
  }

  Result<Value> repeat(const Text& text, std::int64_t times) {
    Text out_text;
    for (std::int64_t i = 0; i < times && !text.bytes.empty(); ++i) {
      WF_CHECK(work_.bytes(text.bytes.size()));
      out_text.append(text);
    }
    return Value::of(std::move(out_text));
  }

  Result<Value> eval_compare(const Expr& expr) {
    WF_TRY(Value left, eval(*expr.args[0]));
    for (std::size_t i = 0; i < expr.operators.size(); ++i) {
      WF_TRY(Value right, eval(*expr.args[i + 1]));
      work_.line = expr.line;
      WF_TRY(const bool holds, compare(expr.operators[i], left, right));
      if (!holds) return Value::of(false);
      left = std::move(right);
    }
    return Value::of(true);
  }

  Result<bool> compare(const std::string& op, const Value& left, const Value& right) {
    if (op == "==" || op == "!=") {
      WF_TRY(const bool same, equal(work_, left, right));
      return same == (op == "==");
    }
    if (op == "in" || op == "not in") {
      WF_TRY(const bool found, contains(work_, right, left));
      return found == (op == "in");
    }
    return ordered(work_, op, left, right);
  }

  Result<Value> eval_concat(const Expr& expr) {
    Text joined;
    for (const auto& arg : expr.args) {
      WF_TRY(const Value value, eval(*arg));
      WF_TRY(const Text text, to_text(work_, value));
      joined.append(text);
    }
    return Value::of(std::move(joined));
  }

  Result<Value> eval_condition(const Expr& expr) {
    WF_TRY(const Value condition, eval(*expr.args[1]));
    if (condition.truthy()) return eval(*expr.args[0]);
    if (expr.args[2]) return eval(*expr.args[2]);
    return Value::undefined("the inline if-expression is false and has no else");
  }

  Result<Value> eval_attribute(const Expr& expr) {
    WF_TRY(const Value subject, eval(*expr.args[0]));
    work_.line = expr.line;
    if (is_python_method(subject, expr.name))
      return work_.error(ErrorCode::kUnsupported,
                         fmt::format("the method '{}' as a value, not called, is not supported", expr.name));
    return get_item(work_, subject, Value::of(expr.name));
  }

  Result<Value> eval_item(const Expr& expr) {
    WF_TRY(const Value subject, eval(*expr.args[0]));
    WF_TRY(const Value key, eval(*expr.args[1]));
    work_.line = expr.line;
    return get_item(work_, subject, key);
  }

  Result<Value> eval_slice(const Expr& expr) {
    WF_TRY(const Value subject, eval(*expr.args[0]));
    std::optional<std::int64_t> bounds[3];
    for (std::size_t i = 0; i < 3; ++i) {
      if (!expr.args[i + 1]) continue;
      WF_TRY(const Value bound, eval(*expr.args[i + 1]));
      work_.line = expr.line;
      std::int64_t number = 0;
      if (bound.is_none()) continue;
      if (!bound.to_integer(number))
        return work_.error(fmt::format("a slice needs integers, not {}", describe(bound)));
      bounds[i] = number;
    }
    work_.line = expr.line;
    if (const auto* undefined = std::get_if<Undefined>(&subject.data)) return work_.error(undefined->what);
    if (!subject.list() && !subject.text())
      return work_.error(fmt::format("a value of type {} cannot be sliced", subject.type_name()));
    WF_TRY(const std::vector<Value> items, iterate(work_, subject));
    WF_TRY(const std::vector<std::size_t> indices,
           slice_indices(items.size(), bounds[0], bounds[1], bounds[2]));
    if (subject.list()) {
      std::vector<Value> part;
      for (const std::size_t i : indices) part.push_back(items[i]);
      return make_list(work_, std::move(part), subject.list()->tuple);
    }
    Text part;
    for (const std::size_t i : indices) part.append(*items[i].text());
    return make_text(work_, std::move(part));
  }

  // Python's rules for [start:stop:step].
  Result<std::vector<std::size_t>> slice_indices(std::size_t count, std::optional<std::int64_t> start,
                                                 std::optional<std::int64_t> stop,
                                                 std::optional<std::int64_t> step) {
    const auto size = static_cast<std::int64_t>(count);
    // A step beyond the size takes one item, as a step of the size does.
    const std::int64_t by = std::clamp(step.value_or(1), -size - 1, size + 1);
    if (by == 0) return work_.error("the step of a slice must not be 0");
    const std::int64_t low = by > 0 ? 0 : -1, high = by > 0 ? size : size - 1;
    const auto place = [&](std::optional<std::int64_t> bound, std::int64_t missing) {
      if (!bound) return missing;
      return std::clamp(*bound < 0 ? *bound + size : *bound, low, high);
    };
    const std::int64_t from = place(start, by > 0 ? low : high), to = place(stop, by > 0 ? high : low);
    std::vector<std::size_t> indices;
    for (std::int64_t i = from; by > 0 ? i < to : i > to; i += by)
      indices.push_back(static_cast<std::size_t>(i));
    return indices;
  }

  Result<Value> eval_builtin(const Expr& expr) {
    WF_TRY(const Value subject, eval(*expr.args[0]));
    WF_TRY(const std::vector<Value> positional, eval_all(expr, 1));
    WF_TRY(const Scope named, eval_named(expr));
    work_.line = expr.line;
    WF_TRY(const std::vector<const Value*> args, bind_arguments(work_, *expr.builtin, positional, named));
    WF_TRY(Value result, expr.builtin->run(work_, subject, args));
    if (expr.kind == ExprKind::kTest && expr.negated) return Value::of(!result.truthy());
    return result;
  }

  Result<Value> eval_function(const Expr& expr) {
    WF_TRY(const Value shadowed, look_up(expr.name));
    if (!shadowed.is_undefined()) return work_.error(fmt::format("'{}' is no function", expr.name));
    WF_TRY(const std::vector<Value> positional, eval_all(expr, 0));
    WF_TRY(Scope named, eval_named(expr));
    work_.line = expr.line;
    if (expr.name == "namespace") return make_namespace(positional, std::move(named));
    if (!expr.builtin) return work_.error(fmt::format("'{}' is undefined", expr.name));
    WF_TRY(const std::vector<const Value*> args, bind_arguments(work_, *expr.builtin, positional, named));
    return expr.builtin->run(work_, Value(), args);
  }

  Result<Value> make_namespace(const std::vector<Value>& positional, Scope named) {
    if (!positional.empty())
      return work_.error(ErrorCode::kUnsupported, "namespace() with a mapping is not supported");
    for (const auto& item : named) WF_CHECK(check_storable(work_, item.second));
    return Value(Value::Data(std::make_shared<Namespace>(Namespace{std::move(named)})));
  }

  Work& work_;
  std::vector<Scope> scopes_;
};

}  // namespace

Result<Text> evaluate(const Body& body, std::vector<std::pair<std::string, Value>> globals, Work& work) {
  Evaluator evaluator(std::move(globals), work);
  WF_CHECK(evaluator.run(body));
  return std::move(evaluator.out);
}

}  // namespace warpfold::text::jinja
