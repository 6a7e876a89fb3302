// expect: this scalar is not built in
#include "stretto/driver/solver.hpp"

stretto::Solver<float>* solver_of_floats(stretto::Comm& comm) {
    return new stretto::Solver<float>(comm, stretto::Identity{}, stretto::Identity{}, 1, 1);
}
