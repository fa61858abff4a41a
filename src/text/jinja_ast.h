// The syntax tree of a chat template. Its depth is bounded by the parser, so walking it may recurse.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja_value.h"

namespace warpfold::text::jinja {

struct Builtin;  // jinja_builtins.h

enum class ExprKind {
  kConstant,   // value
  kName,       // name
  kList,       // args
  kTuple,      // args
  kDict,       // args: key, value, key, value, ...
  kUnary,      // name: "not", "-", "+"; args[0]
  kBinary,     // name: "and", "or", "+", "-", "*", "//", "%"; args[0], args[1]
  kCompare,    // args[0] op args[1] op args[2] ...; operators
  kConcat,     // ~; args
  kCondition,  // args[0] if args[1] else args[2] (missing: undefined)
  kAttribute,  // args[0].name
  kItem,       // args[0][args[1]]
  kSlice,      // args[0][args[1]:args[2]:args[3]], missing bounds are null
  kFilter,     // args[0] | builtin(args[1...], named)
  kTest,       // args[0] is builtin(args[1...], named); negated
  kFunction,   // name(args, named)
  kMethod,     // args[0].name(args[1...], named)
};

struct Expr {
  using Ptr = std::unique_ptr<Expr>;
  ExprKind kind;
  int line = 1;
  int depth = 1;
  std::string name;
  Value value;
  std::vector<Ptr> args;
  std::vector<std::pair<std::string, Ptr>> named;  // keyword arguments
  std::vector<std::string> operators;
  const Builtin* builtin = nullptr;
  bool negated = false;
};

enum class StmtKind { kText, kPrint, kIf, kFor, kSet };

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Stmt {
  StmtKind kind;
  int line = 1;
  std::string text;                                  // kText
  Expr::Ptr expr;                                    // kPrint; kFor: what is iterated; kSet: the value
  std::vector<std::pair<Expr::Ptr, Body>> branches;  // kIf: condition and body of if and elif
  Body body;                                         // kFor
  Body otherwise;                                    // kIf, kFor: else
  Expr::Ptr filter;                                  // kFor: "if" after what is iterated
  std::vector<std::string> targets;                  // kFor, kSet
  std::string attribute;                             // kSet targets[0].attribute = ...
};

}  // namespace warpfold::text::jinja
