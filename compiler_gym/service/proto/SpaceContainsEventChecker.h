// Tells whether a value belongs to a space.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym {

// Checks events against spaces, each kind of space by a predicate of its own.
//
// The predicate is found by the space's type_id if it has one, and otherwise by its kind: the name
// of the value's enumerator in the generated code, e.g. "kInt64Box". A space without a value, or
// with a type_id that no predicate is known for, contains nothing.
//
// A checker whose context is not being changed can be used by any number of threads.
class SpaceContainsEventChecker {
 public:
  // The reason why an event is not in a space; unset if it is.
  using Mismatch = std::optional<std::string>;
  // Gets the checker for the elements of compound spaces.
  using Predicate = std::function<Mismatch(const SpaceContainsEventChecker& checker,
                                           const Space& space, const Event& event)>;
  using Context = std::unordered_map<std::string, Predicate>;

  explicit SpaceContainsEventChecker(Context context);

  // Returns true if `event` is in `space`. `errorOnFalse` logs an error that says why it is not.
  bool contains(const Space& space, const Event& event, bool errorOnFalse = false) const;

  // Ends the process with a log message unless `event` is in `space`.
  void checkContains(const Space& space, const Event& event) const;

  // Returns the reason why `event` is not in `space`.
  Mismatch findMismatch(const Space& space, const Event& event) const;

  // The predicates; add or replace some to support a type_id.
  Context& context() { return context_; }
  const Context& context() const { return context_; }

 private:
  Context context_;
};

// A checker for every kind of space of the protocol, and for these values of type_id:
//   permutation  an int64_sequence of fixed length n whose scalar range has n integers: contains
//                the tensors with each of them once
//
// What an event must be, by kind of space. Bounds are inclusive, unset bounds are the extremes of
// the type, and "not a number" is in no range.
//   space_list, space_dict           list or dict of as many elements, each in its space
//   space_sequence                   list of a length in range, each element in the space
//   space_union                      in at least one of the spaces
//   discrete, named_discrete         int64 from 0 to the number of values - 1
//   boolean, int64, float, double    value of that type in range
//   string                           string of a length in bytes in range
//   *_sequence                       tensor of one dimension of that type, its length and its
//                                    elements in range; bytes_sequence takes byte tensors
//   *_box                            tensor of the shape of the bounds, each element within its own
//   any                              any of the same type; if the space's type is CommandlineSpace,
//                                    an int64 from 0 to the number of names - 1
// The elements of byte tensors are numbers from -128 to 127.
SpaceContainsEventChecker makeDefaultSpaceContainsEventChecker();

}  // namespace compiler_gym
