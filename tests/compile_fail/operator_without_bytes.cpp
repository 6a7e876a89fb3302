// expect: an operator needs bytes
#include "stretto/operators/linear_map.hpp"

struct Twice {
    void apply(stretto::MultiVector<double>, stretto::MultiVector<double>) const {}
};
const Twice twice;
stretto::AnyOperator<double> incomplete(twice);
