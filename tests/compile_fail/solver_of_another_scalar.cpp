// expect: this scalar is not built in
#include "stretto/driver/solver.hpp"

stretto::Solver<long double>* solver_of_long_doubles(stretto::Comm& comm) {
    return new stretto::Solver<long double>(comm, stretto::Identity{}, stretto::Identity{}, 1, 1);
}
