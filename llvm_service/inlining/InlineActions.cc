#include "llvm_service/inlining/InlineActions.h"

namespace compiler_gym::llvm_service {

namespace {

using Target = InlineDecision::Target;

constexpr InlineChoice kChoices[] = {InlineChoice::kKeep, InlineChoice::kInline,
                                     InlineChoice::kDefault};

void addChoices(Target target, size_t number, std::vector<InlineDecision>& decisions) {
  for (const InlineChoice choice : kChoices) decisions.push_back({target, number, choice});
}

std::string describe(const InlineDecision& decision) {
  const std::string number = std::to_string(decision.number);
  const std::string what = decision.target == Target::kQuestion
                               ? "the call that the inliner asks about"
                           : decision.target == Target::kSite ? "call " + number
                                                              : "all calls of callee " + number;
  switch (decision.choice) {
    case InlineChoice::kKeep:
      return "Does not inline " + what;
    case InlineChoice::kInline:
      return "Inlines " + what;
    case InlineChoice::kDefault:
      break;
  }
  return "Leaves the decision about " + what + " to LLVM";
}

std::vector<InlineActions> makeInlineActions() {
  InlineActions inOrder{"InlinerOrder", /*isInOrder=*/true, {}};
  addChoices(Target::kQuestion, 0, inOrder.decisions);
  InlineActions anyOrder{"AnyOrder", /*isInOrder=*/false, {}};
  for (size_t i = 0; i < kInlineSites; ++i) addChoices(Target::kSite, i, anyOrder.decisions);
  for (size_t i = 0; i < kInlineCallees; ++i) addChoices(Target::kCallee, i, anyOrder.decisions);
  return {inOrder, anyOrder};
}

}  // namespace

ActionList InlineActions::toList() const {
  ActionList list{name, {}};
  for (const InlineDecision& decision : decisions) {
    list.actions.push_back(
        {decision.text(), decision.text(), describe(decision), {ownPassesOption()}});
  }
  return list;
}

const std::vector<InlineActions>& listInlineActions() {
  static const std::vector<InlineActions> actions = makeInlineActions();
  return actions;
}

}  // namespace compiler_gym::llvm_service
