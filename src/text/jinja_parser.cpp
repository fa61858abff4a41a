// Recursive descent over the tokens, with Jinja's precedences:
//   a if c else b  <  or  <  and  <  not  <  == != < <= > >= in  <  + -  <  ~  <  * // %  <  unary  <  . []
//   () | is
#include "text/jinja_parser.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "text/jinja_builtins.h"
#include "text/jinja_lexer.h"

namespace warpfold::text::jinja {
namespace {

constexpr int kMaxDepth = 128;  // of nested statements and expressions

constexpr std::string_view kOtherStatements[] = {
    "raw", "macro", "call",  "filter",   "include",    "import",     "from",  "extends", "block",    "with",
    "do",  "trans", "break", "continue", "autoescape", "generation", "debug", "scoped",  "pluralize"};
constexpr std::string_view kOtherFunctions[] = {"cycler", "joiner", "lipsum", "dict",
                                                "caller", "super",  "_",      "gettext"};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Body> run() {
    Body body;
    WF_CHECK(parse_body(body, {}));
    return body;
  }

 private:
  // --- tokens
  const Token& now() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is_op(std::string_view op) const { return now().kind == TokenKind::kOperator && now().text == op; }
  bool is_name(std::string_view name) const { return now().kind == TokenKind::kName && now().text == name; }
  bool take_op(std::string_view op) { return is_op(op) && (++at_, true); }
  bool take_name(std::string_view name) { return is_name(name) && (++at_, true); }

  tl::unexpected<Error> error(ErrorCode code, std::string_view what) const {
    return fail(code, fmt::format("chat template, line {}: {}", now().line, what));
  }
  tl::unexpected<Error> unsupported(std::string_view what) const {
    return error(ErrorCode::kUnsupported, fmt::format("{} is not supported", what));
  }
  tl::unexpected<Error> expected(std::string_view what) const {
    std::string found = now().text;
    switch (now().kind) {
      case TokenKind::kPrintEnd:
        found = "}}";
        break;
      case TokenKind::kBlockEnd:
        found = "%}";
        break;
      case TokenKind::kInteger:
        found = fmt::format("{}", now().number);
        break;
      case TokenKind::kText:
      case TokenKind::kPrintBegin:
      case TokenKind::kBlockBegin:
      case TokenKind::kEnd:
        found = "the end of the template";
        break;
      default:
        break;
    }
    return error(ErrorCode::kBadFile, fmt::format("expected {}, found {}", what, found));
  }
  Status expect_op(std::string_view op) {
    if (!take_op(op)) return expected(fmt::format("'{}'", op));
    return {};
  }
  Status expect(TokenKind kind, std::string_view what) {
    if (now().kind != kind) return expected(what);
    ++at_;
    return {};
  }
  Result<std::string> expect_name(std::string_view what) {
    if (now().kind != TokenKind::kName) return expected(what);
    return tokens_[at_++].text;
  }

  // --- nodes
  struct Level {  // counts the parser's recursion
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    int& depth_;
  };
  Expr::Ptr make(ExprKind kind, int line) const {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->line = line;
    return expr;
  }
  // Chains such as a + b + c grow without recursion here; their depth counts all the same.
  Status adopt(Expr& parent, Expr::Ptr child) {
    if (child) parent.depth = std::max(parent.depth, child->depth + 1);
    parent.args.push_back(std::move(child));
    return check_depth(parent.depth);
  }
  Status check_depth(int depth) const {
    if (depth > kMaxDepth)
      return error(ErrorCode::kUnsupported,
                   fmt::format("nesting deeper than {} is not supported", kMaxDepth));
    return {};
  }

  // --- statements
  // Parses up to a block that begins with one of `ends`, whose name is then the current token; or to the end.
  Status parse_body(Body& body, std::initializer_list<std::string_view> ends) {
    const Level level(depth_);
    WF_CHECK(check_depth(depth_));
    while (true) {
      const int line = now().line;
      if (now().kind == TokenKind::kEnd) {
        if (ends.size() > 0) return expected(fmt::format("{{% {} %}}", *(ends.end() - 1)));
        return {};
      }
      if (now().kind == TokenKind::kText) {
        auto stmt = statement(StmtKind::kText, line);
        stmt->text = tokens_[at_++].text;
        body.push_back(std::move(stmt));
      } else if (now().kind == TokenKind::kPrintBegin) {
        ++at_;
        auto stmt = statement(StmtKind::kPrint, line);
        WF_TRY(stmt->expr, parse_expression());
        if (is_op(",")) return unsupported("a tuple without parentheses");
        WF_CHECK(expect(TokenKind::kPrintEnd, "}}"));
        body.push_back(std::move(stmt));
      } else {
        ++at_;  // {%
        if (now().kind == TokenKind::kName &&
            std::find(ends.begin(), ends.end(), std::string_view(now().text)) != ends.end())
          return {};
        WF_CHECK(parse_block(body));
      }
    }
  }

  static std::unique_ptr<Stmt> statement(StmtKind kind, int line) {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = line;
    return stmt;
  }

  Status parse_block(Body& body) {
    if (is_name("if")) return parse_if(body);
    if (is_name("for")) return parse_for(body);
    if (is_name("set")) return parse_set(body);
    if (now().kind != TokenKind::kName) return expected("a statement");
    const bool known = std::find(std::begin(kOtherStatements), std::end(kOtherStatements), now().text) !=
                       std::end(kOtherStatements);
    if (known) return unsupported(fmt::format("the statement '{}'", now().text));
    return error(ErrorCode::kBadFile, fmt::format("unexpected statement '{}'", now().text));
  }

  Status parse_if(Body& body) {
    auto stmt = statement(StmtKind::kIf, now().line);
    do {
      ++at_;  // if, elif
      WF_TRY(Expr::Ptr condition, parse_expression());
      WF_CHECK(expect(TokenKind::kBlockEnd, "%}"));
      stmt->branches.emplace_back(std::move(condition), Body{});
      WF_CHECK(parse_body(stmt->branches.back().second, {"elif", "else", "endif"}));
    } while (is_name("elif"));
    if (take_name("else")) {
      WF_CHECK(expect(TokenKind::kBlockEnd, "%}"));
      WF_CHECK(parse_body(stmt->otherwise, {"endif"}));
    }
    ++at_;  // endif
    WF_CHECK(expect(TokenKind::kBlockEnd, "%}"));
    body.push_back(std::move(stmt));
    return {};
  }

  Status parse_for(Body& body) {
    auto stmt = statement(StmtKind::kFor, now().line);
    ++at_;
    do {
      WF_TRY(std::string target, expect_name("a loop variable"));
      stmt->targets.push_back(std::move(target));
    } while (take_op(","));
    if (!take_name("in")) return expected("'in'");
    WF_TRY(stmt->expr, parse_or());  // not a conditional expression: "if" begins the filter
    if (is_op(",")) return unsupported("a tuple without parentheses");
    if (take_name("if")) {
      WF_TRY(stmt->filter, parse_expression());
    }
    if (is_name("recursive")) return unsupported("a recursive loop");
    WF_CHECK(expect(TokenKind::kBlockEnd, "%}"));
    WF_CHECK(parse_body(stmt->body, {"else", "endfor"}));
    if (take_name("else")) {
      WF_CHECK(expect(TokenKind::kBlockEnd, "%}"));
      WF_CHECK(parse_body(stmt->otherwise, {"endfor"}));
    }
    ++at_;  // endfor
    WF_CHECK(expect(TokenKind::kBlockEnd, "%}"));
    body.push_back(std::move(stmt));
    return {};
  }

  Status parse_set(Body& body) {
    auto stmt = statement(StmtKind::kSet, now().line);
    ++at_;
    WF_TRY(std::string target, expect_name("a variable"));
    stmt->targets.push_back(std::move(target));
    if (take_op(".")) {
      WF_TRY(stmt->attribute, expect_name("an attribute"));
    }
    if (is_op(",")) return unsupported("assignment to several variables");
    if (now().kind == TokenKind::kBlockEnd || is_op("|")) return unsupported("the block form of 'set'");
    WF_CHECK(expect_op("="));
    WF_TRY(stmt->expr, parse_expression());
    if (is_op(",")) return unsupported("a tuple without parentheses");
    WF_CHECK(expect(TokenKind::kBlockEnd, "%}"));
    body.push_back(std::move(stmt));
    return {};
  }

  // --- expressions
  Result<Expr::Ptr> parse_expression() {
    const Level level(depth_);
    WF_CHECK(check_depth(depth_));
    WF_TRY(Expr::Ptr expr, parse_or());
    while (is_name("if")) {
      auto condition = make(ExprKind::kCondition, now().line);
      ++at_;
      WF_TRY(Expr::Ptr test, parse_or());
      Expr::Ptr otherwise;
      if (take_name("else")) {
        WF_TRY(otherwise, parse_expression());
      }
      WF_CHECK(adopt(*condition, std::move(expr)));
      WF_CHECK(adopt(*condition, std::move(test)));
      WF_CHECK(adopt(*condition, std::move(otherwise)));
      expr = std::move(condition);
    }
    return expr;
  }

  using Rule = Result<Expr::Ptr> (Parser::*)();

  // A left-associative chain of operators of one precedence.
  Result<Expr::Ptr> parse_chain(Rule rule, TokenKind kind,
                                std::initializer_list<std::string_view> operators) {
    WF_TRY(Expr::Ptr left, (this->*rule)());
    while (now().kind == kind &&
           std::find(operators.begin(), operators.end(), now().text) != operators.end()) {
      auto binary = make(ExprKind::kBinary, now().line);
      binary->name = tokens_[at_++].text;
      WF_TRY(Expr::Ptr right, (this->*rule)());
      WF_CHECK(adopt(*binary, std::move(left)));
      WF_CHECK(adopt(*binary, std::move(right)));
      left = std::move(binary);
    }
    return left;
  }

  Result<Expr::Ptr> parse_or() { return parse_chain(&Parser::parse_and, TokenKind::kName, {"or"}); }
  Result<Expr::Ptr> parse_and() { return parse_chain(&Parser::parse_not, TokenKind::kName, {"and"}); }

  Result<Expr::Ptr> parse_not() {
    if (!is_name("not")) return parse_compare();
    const Level level(depth_);
    WF_CHECK(check_depth(depth_));
    auto unary = make(ExprKind::kUnary, now().line);
    unary->name = tokens_[at_++].text;
    WF_TRY(Expr::Ptr operand, parse_not());
    WF_CHECK(adopt(*unary, std::move(operand)));
    return unary;
  }

  // The comparison operator here, which is taken; empty when there is none.
  std::string take_comparison() {
    if (now().kind == TokenKind::kOperator) {
      for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"})
        if (take_op(op)) return std::string(op);
    } else if (take_name("in")) {
      return "in";
    } else if (is_name("not") && next().kind == TokenKind::kName && next().text == "in") {
      at_ += 2;
      return "not in";
    }
    return {};
  }

  Result<Expr::Ptr> parse_compare() {
    const int line = now().line;
    WF_TRY(Expr::Ptr first, parse_sum());
    std::string op = take_comparison();
    if (op.empty()) return first;
    auto compare = make(ExprKind::kCompare, line);
    WF_CHECK(adopt(*compare, std::move(first)));
    for (; !op.empty(); op = take_comparison()) {
      WF_TRY(Expr::Ptr operand, parse_sum());
      compare->operators.push_back(op);
      WF_CHECK(adopt(*compare, std::move(operand)));
    }
    return compare;
  }

  Result<Expr::Ptr> parse_sum() {
    return parse_chain(&Parser::parse_concat, TokenKind::kOperator, {"+", "-"});
  }

  Result<Expr::Ptr> parse_concat() {
    WF_TRY(Expr::Ptr first, parse_product());
    if (!is_op("~")) return first;
    auto concat = make(ExprKind::kConcat, now().line);
    WF_CHECK(adopt(*concat, std::move(first)));
    while (take_op("~")) {
      WF_TRY(Expr::Ptr operand, parse_product());
      WF_CHECK(adopt(*concat, std::move(operand)));
    }
    return concat;
  }

  Result<Expr::Ptr> parse_product() {
    WF_TRY(Expr::Ptr product, parse_chain(&Parser::parse_unary, TokenKind::kOperator, {"*", "//", "%"}));
    if (is_op("/") || is_op("**")) return unsupported(fmt::format("the operator {}", now().text));
    return product;
  }

  Result<Expr::Ptr> parse_unary() {
    WF_TRY(Expr::Ptr expr, parse_signed());
    return parse_filters(std::move(expr));
  }

  Result<Expr::Ptr> parse_signed() {
    const Level level(depth_);
    WF_CHECK(check_depth(depth_));
    if (!is_op("-") && !is_op("+")) {
      WF_TRY(Expr::Ptr primary, parse_primary());
      return parse_postfix(std::move(primary));
    }
    auto unary = make(ExprKind::kUnary, now().line);
    unary->name = tokens_[at_++].text;
    WF_TRY(Expr::Ptr operand, parse_signed());
    WF_CHECK(adopt(*unary, std::move(operand)));
    return unary;
  }

  Expr::Ptr constant(Value value, int line) const {
    auto expr = make(ExprKind::kConstant, line);
    expr->value = std::move(value);
    return expr;
  }

  Result<Expr::Ptr> parse_primary() {
    const int line = now().line;
    switch (now().kind) {
      case TokenKind::kString: {
        std::string text;
        while (now().kind == TokenKind::kString) text += tokens_[at_++].text;
        return constant(Value::of(text), line);
      }
      case TokenKind::kInteger:
        return constant(Value::of(tokens_[at_++].number), line);
      case TokenKind::kName: {
        const std::string& name = tokens_[at_++].text;
        if (name == "true" || name == "True") return constant(Value::of(true), line);
        if (name == "false" || name == "False") return constant(Value::of(false), line);
        if (name == "none" || name == "None") return constant(Value::none(), line);
        auto expr = make(ExprKind::kName, line);
        expr->name = name;
        return expr;
      }
      case TokenKind::kOperator:
        if (take_op("(")) return parse_parenthesis(line);
        if (take_op("[")) return parse_items(make(ExprKind::kList, line), "]");
        if (take_op("{")) return parse_dict(line);
        break;
      default:
        break;
    }
    return expected("an expression");
  }

  Result<Expr::Ptr> parse_parenthesis(int line) {
    if (is_op(")")) return parse_items(make(ExprKind::kTuple, line), ")");
    WF_TRY(Expr::Ptr first, parse_expression());
    if (take_op(")")) return first;
    if (!is_op(",")) return expected("')'");
    auto tuple = make(ExprKind::kTuple, line);
    WF_CHECK(adopt(*tuple, std::move(first)));
    ++at_;
    return parse_items(std::move(tuple), ")");
  }

  // Items up to the closing bracket, which is taken; the opening one, or a comma, already is.
  Result<Expr::Ptr> parse_items(Expr::Ptr list, std::string_view close) {
    while (!take_op(close)) {
      WF_TRY(Expr::Ptr item, parse_expression());
      WF_CHECK(adopt(*list, std::move(item)));
      if (!is_op(close)) WF_CHECK(expect_op(","));
    }
    return list;
  }

  Result<Expr::Ptr> parse_dict(int line) {
    auto dict = make(ExprKind::kDict, line);
    while (!take_op("}")) {
      WF_TRY(Expr::Ptr key, parse_expression());
      WF_CHECK(expect_op(":"));
      WF_TRY(Expr::Ptr value, parse_expression());
      WF_CHECK(adopt(*dict, std::move(key)));
      WF_CHECK(adopt(*dict, std::move(value)));
      if (!is_op("}")) WF_CHECK(expect_op(","));
    }
    return dict;
  }

  // Attributes, subscripts and calls.
  Result<Expr::Ptr> parse_postfix(Expr::Ptr expr) {
    while (true) {
      const int line = now().line;
      if (take_op(".")) {
        if (now().kind == TokenKind::kInteger) {
          auto item = make(ExprKind::kItem, line);
          WF_CHECK(adopt(*item, std::move(expr)));
          WF_CHECK(adopt(*item, constant(Value::of(tokens_[at_++].number), line)));
          expr = std::move(item);
          continue;
        }
        auto attribute = make(ExprKind::kAttribute, line);
        WF_TRY(attribute->name, expect_name("an attribute"));
        WF_CHECK(adopt(*attribute, std::move(expr)));
        expr = std::move(attribute);
      } else if (take_op("[")) {
        WF_TRY(expr, parse_subscript(std::move(expr), line));
      } else if (is_op("(")) {
        WF_TRY(expr, parse_call(std::move(expr)));
      } else {
        return expr;
      }
    }
  }

  Result<Expr::Ptr> parse_subscript(Expr::Ptr subject, int line) {
    Expr::Ptr bounds[3];
    int colons = 0;
    while (!is_op("]")) {
      if (take_op(":")) {
        if (++colons > 2) return expected("']'");
        continue;
      }
      if (bounds[colons]) return expected("']'");
      WF_TRY(bounds[colons], parse_expression());
      if (is_op(",")) return unsupported("a subscript with several indices");
    }
    if (colons == 0 && !bounds[0]) return expected("an index");
    ++at_;  // ]
    auto item = make(colons > 0 ? ExprKind::kSlice : ExprKind::kItem, line);
    WF_CHECK(adopt(*item, std::move(subject)));
    for (int i = 0; i < (colons > 0 ? 3 : 1); ++i) WF_CHECK(adopt(*item, std::move(bounds[i])));
    return item;
  }

  Result<Expr::Ptr> parse_call(Expr::Ptr callee) {
    auto call = make(ExprKind::kFunction, now().line);
    call->name = callee->name;
    if (callee->kind == ExprKind::kAttribute) {
      if (!find_method(callee->name)) return unsupported(fmt::format("the method '{}'", callee->name));
      call->kind = ExprKind::kMethod;
      call->builtin = find_method(callee->name);
      WF_CHECK(adopt(*call, std::move(callee->args[0])));
    } else if (callee->kind == ExprKind::kName) {
      const bool known = std::find(std::begin(kOtherFunctions), std::end(kOtherFunctions), call->name) !=
                         std::end(kOtherFunctions);
      if (known) return unsupported(fmt::format("the function '{}'", call->name));
      call->builtin = find_function(call->name);
    } else {
      return unsupported("a call of something other than a name");
    }
    WF_CHECK(parse_arguments(*call));
    return call;
  }

  Status parse_arguments(Expr& call) {
    WF_CHECK(expect_op("("));
    while (!take_op(")")) {
      if (is_op("*") || is_op("**")) return unsupported("unpacking of arguments");
      const bool keyword =
          now().kind == TokenKind::kName && next().kind == TokenKind::kOperator && next().text == "=";
      std::string name;
      if (keyword) {
        name = now().text;
        at_ += 2;
      } else if (!call.named.empty()) {
        return expected("a keyword argument");
      }
      WF_TRY(Expr::Ptr value, parse_expression());
      call.depth = std::max(call.depth, value->depth + 1);
      if (keyword) {
        call.named.emplace_back(std::move(name), std::move(value));
      } else {
        WF_CHECK(adopt(call, std::move(value)));
      }
      if (!is_op(")")) WF_CHECK(expect_op(","));
    }
    return check_depth(call.depth);
  }

  Result<Expr::Ptr> parse_filters(Expr::Ptr expr) {
    while (true) {
      if (take_op("|")) {
        auto filter = make(ExprKind::kFilter, now().line);
        WF_TRY(filter->name, expect_name("a filter"));
        filter->builtin = find_filter(filter->name);
        if (!filter->builtin) return unsupported(fmt::format("the filter '{}'", filter->name));
        WF_CHECK(adopt(*filter, std::move(expr)));
        if (is_op("(")) WF_CHECK(parse_arguments(*filter));
        expr = std::move(filter);
      } else if (take_name("is")) {
        WF_TRY(expr, parse_test(std::move(expr)));
      } else if (is_op("(")) {
        return unsupported("a call of something other than a name");
      } else {
        return expr;
      }
    }
  }

  Result<Expr::Ptr> parse_test(Expr::Ptr subject) {
    auto test = make(ExprKind::kTest, now().line);
    test->negated = take_name("not");
    if (is_op("==")) {  // "is ==" is a spelling of "is eq" that only map() and select() can use
      return expected("a test");
    }
    WF_TRY(test->name, expect_name("a test"));
    test->builtin = find_test(test->name);
    if (!test->builtin) return unsupported(fmt::format("the test '{}'", test->name));
    WF_CHECK(adopt(*test, std::move(subject)));
    if (is_op("(")) {
      WF_CHECK(parse_arguments(*test));
      return test;
    }
    // One argument may follow without parentheses: "is divisibleby 3".
    const bool word = now().kind == TokenKind::kName;
    if (is_name("is")) return expected("the end of the test (tests cannot be chained)");
    const bool argument = word ? !is_name("else") && !is_name("or") && !is_name("and") && !is_name("if") &&
                                     !is_name("in") && !is_name("not")
                               : now().kind == TokenKind::kString || now().kind == TokenKind::kInteger ||
                                     is_op("[") || is_op("{");
    if (argument) {
      WF_TRY(Expr::Ptr primary, parse_primary());
      WF_TRY(Expr::Ptr value, parse_postfix(std::move(primary)));
      WF_CHECK(adopt(*test, std::move(value)));
    }
    return test;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Body> parse_template(std::string_view source) {
  WF_TRY(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace warpfold::text::jinja
