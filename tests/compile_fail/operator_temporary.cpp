// expect: deleted function
#include "stretto/operators/linear_map.hpp"

struct Twice {
    void apply(stretto::MultiVector<double>, stretto::MultiVector<double>) const {}
    double bytes(int) const { return 0; }
};
stretto::AnyOperator<double> dangling() { return stretto::AnyOperator<double>(Twice{}); }
