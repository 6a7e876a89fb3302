#!/bin/bash
# stretto bem, stretto kernel, stretto bench hmatrix.
. "$(dirname "$0")/cli_checks.bash"

check "a sphere" solves 1 bem sphere:n=1280 --method bicgstab --json run.json --vtk run.vtu --picture run.svg --solution x.mtx
check "a sphere has the capacitance of a sphere" holds run.json "r['converged'] and abs(r['bem']['capacitance'] - 1) < 0.005"
check "its truth is told" holds run.json "r['bem']['truth']['value'] == 1 and r['bem']['relative_error'] < 0.005"
check "the residual with the kernel is small" holds run.json "r['hmatrix']['kernel_residual'] < 1e-5"
check "what it will take is announced" says out 'points: [0-9]+ dense and [0-9]+ low-rank blocks, about [0-9.]+ MB'
check "the VTK file is one" says run.vtu '<VTKFile type="UnstructuredGrid"'
check "the VTK file has the cells" says run.vtu 'NumberOfCells="1280"'
check "the VTK file is XML" python3 -c "import xml.dom.minidom; xml.dom.minidom.parse('run.vtu')"
check "the picture is XML" python3 -c "import xml.dom.minidom; xml.dom.minidom.parse('run.svg')"
check "the solution has a line for each triangle" says x.mtx '^1280 1$'
cp run.json one.json

for ranks in 2 3 4; do
  check "two spheres on $ranks ranks" solves $ranks bem two_spheres:n=2560,distance=3 --method bicgstab \
    --method pipelined_bicgstab --json run.json
  check "their charge on $ranks ranks" holds run.json "all(b['converged'] and b['bem']['relative_error'] < 0.01 for b in r)"
  check "replicated on $ranks ranks" solves $ranks bem two_spheres:n=2560,distance=3 --method bicgstab --layout replicated \
    --json replicated.json
  check "replicated says the same" python3 -c "
import json
a = json.load(open('run.json'))[0]; b = json.load(open('replicated.json'))
assert abs(a['bem']['charge']) < 1e-4 and abs(a['bem']['charges'][0] - b['bem']['charges'][0]) < 1e-4
assert abs(a['iterations'] - b['iterations']) <= 2"
done
check "galerkin with cg" solves 2 bem sphere_in_field:n=720 --testing galerkin --method cg --precond block_jacobi --json run.json
check "its dipole" holds run.json "r['bem']['truth']['what'] == 'dipole' and r['bem']['relative_error'] < 0.03"
check "galerkin on a graded mesh" solves 2 bem cube:n=1200,grading=3 --testing galerkin --method cg --json auto.json
check "without a preconditioner" solves 2 bem cube:n=1200,grading=3 --testing galerkin --method cg --precond none --json run.json
check "it has one by itself" python3 -c "
import json
assert json.load(open('auto.json'))['iterations'] < json.load(open('run.json'))['iterations'] / 10"
check "files of several methods" exits 2 1 bem sphere:n=80 --method bicgstab --method gmres --vtk run.vtu
check "need names" says err 'vtk of several methods: write .. where their names'
check "names in files" solves 1 bem sphere:n=80 --method bicgstab --method gmres --vtk '{}.vtu' --picture '{}.svg'
check "are those of methods" ls bicgstab.vtu gmres.vtu bicgstab.svg gmres.svg
check "the VTK file has all digits" solves 1 bem sphere:n=80 --method bicgstab --vtk run.vtu --solution x.mtx
check "those of the solution" python3 -c "
import re
text = open('run.vtu').read()
cells = re.search('Name=\"charge density\"[^>]*>([^<]*)<', text).group(1).split()
assert [float(v) for v in cells] == [float(v) for v in open('x.mtx').read().split()[-80:]]"
check "probed" solves 2 bem sphere:n=320 --method pipelined_bicgstab --progress-mode auto --json run.json
check "what the probe chose is said" says out 'progress mode: '
check "probed for kernels" solves 2 kernel scattered:n=300 --kernel gaussian --method pipelined_cg
check "is said too" says out 'progress mode: '
check "nothing is probed" solves 2 bem sphere:n=320 --method pipelined_bicgstab --layout replicated
check "for replicated vectors" says out 'progress mode: none, for replicated vectors'
check "inner iterations" solves 2 bem cube:n=1200,grading=2 --method bicgstab --precond inner --json inner.json
check "without them" solves 2 bem cube:n=1200,grading=2 --method bicgstab --json run.json
check "inner iterations take fewer outer ones" python3 -c "
import json
assert json.load(open('inner.json'))['iterations'] < json.load(open('run.json'))['iterations'] / 2"
check "a flexible method takes inner iterations" solves 2 bem cube:n=1200,grading=2 --method gmres:flexible=1 --precond inner \
  --json inner.json
check "they take fewer outer ones there too" python3 -c "
import json
assert json.load(open('inner.json'))['iterations'] < json.load(open('run.json'))['iterations']"
check "a method that is not flexible" exits 2 2 bem cube:n=1200 --method gmres --precond inner
check "is refused with the names of those that are" says err 'these do: flexible_cg, bicgstab, gmres:flexible=1'
check "replicated with block Jacobi" solves 3 bem cube:n=1200,grading=2 --method bicgstab --method pipelined_bicgstab \
  --layout replicated --precond block_jacobi --json replicated.json
check "distributed with block Jacobi" solves 3 bem cube:n=1200,grading=2 --method bicgstab --precond block_jacobi \
  --json distributed.json
check "they take as many iterations" python3 -c "
import json
a = json.load(open('distributed.json'))['iterations']
assert all(abs(r['iterations'] - a) <= 2 for r in json.load(open('replicated.json')))"
check "replicated with latency" solves 2 bem cube:n=1200 --method pipelined_bicgstab --layout replicated \
  --emulate-latency 0,message=1ms
check "a figure" solves 2 bem humanoid:n=2000 --method bicgstab --json run.json
check "many spheres" solves 1 bem spheres:n=2000,pairs=4 --method gmres --json run.json
check "they are all there" holds run.json "len(r['bem']['charges']) == 8"

cat >tetrahedron.off <<'EOF'
OFF
4 4 6
0 0 0
1 0 0
0 1 0
0 0 1
3 0 2 1
3 0 1 3
3 0 3 2
3 1 2 3
EOF
check "a mesh" solves 2 bem mesh:tetrahedron.off --method bicgstab
sed 's/3 1 2 3/3 1 3 2/' tetrahedron.off >turned.off
check "a mesh with a turned triangle" exits 2 2 bem mesh:turned.off --method bicgstab
check "is refused with its number" says err 'turned.off: triangles . and 4 run along'
sed '2s/4 4/4 3/; $d' tetrahedron.off >open.off
check "an open mesh" exits 2 1 bem mesh:open.off --method bicgstab
check "is refused" says err 'not closed: 3 edges have one triangle only, .* vertex 3 at \(0, 1, 0\) to 2 at \(1, 0, 0\): a hole'
check "a torus that closes within rounding" python3 -c "
import math
def at(i, j, n=30, m=16):
    u, v = 2 * math.pi * i / n, 2 * math.pi * j / m
    return ((2 + math.cos(v)) * math.cos(u), (2 + math.cos(v)) * math.sin(u), math.sin(v))
with open('torus.stl', 'w') as f:
    f.write('solid torus\n')
    for i in range(30):
        for j in range(16):
            for t in ((at(i, j), at(i + 1, j), at(i + 1, j + 1)), (at(i, j), at(i + 1, j + 1), at(i, j + 1))):
                f.write('facet normal 0 0 0\nouter loop\n')
                for p in t: f.write('vertex ' + ' '.join(map(repr, p)) + '\n')
                f.write('endloop\nendfacet\n')
    f.write('endsolid\n')"
check "is solved" solves 2 bem mesh:torus.stl --method bicgstab --json run.json
check "says what was welded" holds run.json "any('vertices were welded to others' in t for t in r['remarks'])"
check "a mesh without a name" exits 2 2 bem mesh: --method bicgstab
check "is refused so" says err 'the name of a file is missing, as in mesh:part.stl'
sed '4,6s/1/1e200/' tetrahedron.off >huge.off
check "a huge mesh" exits 2 2 bem mesh:huge.off --method bicgstab
check "is refused with a vertex" says err 'huge.off: vertex 2 has a coordinate that is not finite, or beyond 1e\+40'
sed '4,6s/1/1e-200/' tetrahedron.off >tiny.off
check "a tiny mesh" exits 2 2 bem mesh:tiny.off --method bicgstab
check "is refused with a reason" says err 'another unit of length'
check "one line on three ranks" exits 2 3 bem mesh:nowhere.stl --method bicgstab
check "one line" [ "$(grep -c "^stretto:" err)" -eq 1 ]
check "no such problem" exits 2 1 bem torus:n=100 --method bicgstab
check "the problems are named" says err 'two_spheres'
check "no such method" exits 2 2 bem sphere:n=100 --method none
check "cg is for symmetric matrices" exits 2 1 bem sphere:n=100 --method cg
check "a tolerance out of range" exits 2 1 bem sphere:n=100 --method bicgstab --hmatrix epsilon=2
for ranks in 1 3; do
  check "transposed products on $ranks ranks" solves $ranks bem cube:n=1200 --method improved_bicgstab --precond block_jacobi
  check "replicated ones on $ranks ranks" solves $ranks bem cube:n=1200 --method improved_bicgstab --layout replicated
done
check "memory that does not suffice" exits 2 2 bem sphere:n=5000 --method bicgstab --hmatrix memory=0.001
check "it is said" says err 'GB on a rank'
check "not converged" exits 1 1 bem cube:n=1200 --method bicgstab --max-it 2

check "points" python3 -c "
import random
random.seed(1)
with open('points.txt', 'w') as f:
    f.write('# x y\n')
    for _ in range(1500): f.write(f'{random.random()}, {random.random()}\n')"
for kernel in gaussian:length=0.05,nugget=0.1 matern:length=0.1,nu=5/2 matern:length=0.1,nu=1/2; do
  check "$kernel" solves 2 kernel points.txt --kernel $kernel --method cg --rhs random --columns 3 --json run.json \
    --hmatrix epsilon=1e-8
  check "$kernel: the kernel's own residual" holds run.json "r['columns'] == 3 and r['hmatrix']['kernel_residual'] < 2e-6"
done
for ranks in 1 2; do
  check "an ill-conditioned kernel" exits 1 $ranks kernel scattered:n=1500 --rhs random \
    --kernel matern:length=2,nu=5/2,nugget=1e-4 \
    --method cg --hmatrix epsilon=1e-6 --json run.json
  check "is not converged where the kernel says so" holds run.json "r['status'] == 'stagnated' and not r['converged'] and \
    r['hmatrix']['kernel_residual'] > 2e-5 and 'residual with the kernel itself' in r['events'][-1]['text']"
done
# A smooth right-hand side, noise, and another smooth one: errors of the matrix matter for noise.
check "three right-hand sides" python3 -c "
import math, random
random.seed(2)
points = [tuple(map(float, line.split(','))) for line in open('points.txt') if line[0] != '#']
with open('three.mtx', 'w') as f:
    f.write('%%MatrixMarket matrix array real general\n1500 3\n')
    for column in (lambda x, y: 1, lambda x, y: random.uniform(-1, 1), lambda x, y: math.cos(2 * x + y)):
        for point in points: f.write(f'{column(*point)}\n')"
matern="kernel points.txt --kernel matern:length=0.1,nu=3/2 --method cg --rhs three.mtx --json run.json"
for ranks in 1 3; do
  # shellcheck disable=SC2086
  {
  check "columns with a matrix that is too coarse for one of them, $ranks ranks" exits 1 $ranks $matern --hmatrix epsilon=1e-6
  check "each has its own status, $ranks ranks" holds run.json \
    "[c['status'] for c in r['columns_detail']] == ['converged', 'stagnated', 'converged'] and r['status'] == 'stagnated' and \
     r['events'][-1]['text'].startswith('column 2: the residual with the kernel itself is') and \
     [k > 2e-6 for k in r['hmatrix']['kernel_residuals']] == [False, True, False]"
  check "as it comes, $ranks ranks" solves $ranks $matern
  check "the matrix is good enough for what is asked for, $ranks ranks" holds run.json \
    "math.isclose(r['hmatrix']['epsilon'], 1e-9) and max(r['hmatrix']['kernel_residuals']) == r['hmatrix']['kernel_residual'] < 2e-6"
  check "to a tolerance of one's own, $ranks ranks" solves $ranks $matern --rtol 1e-4
  check "it follows, $ranks ranks" holds run.json "math.isclose(r['hmatrix']['epsilon'], 1e-7)"
  }
done
cat >concave.off <<'END'
OFF
8 6 0
0 0 0
2 1 0
0 2 0
1 1 0
0 0 1
2 1 1
0 2 1
1 1 1
4 3 2 1 0
4 4 5 6 7
4 0 1 5 4
4 1 2 6 5
4 2 3 7 6
4 3 0 4 7
END
check "faces that are concave" solves 1 bem mesh:concave.off --method gmres --json run.json
check "are cut without folds" holds run.json "abs(r['bem']['capacitance'] - 0.742422) < 1e-5"
check "helmholtz" solves 2 kernel scattered:n=1000 --kernel helmholtz:k=2,diagonal=2000 --method gmres --json run.json
for method in gmres bicgstab; do
  check "helmholtz as it is, $method" solves 2 kernel scattered:n=1000 --kernel helmholtz --method $method
done
check "a tolerance below ε" solves 1 kernel points.txt --kernel matern:length=0.02 --method cg --rtol 1e-10 \
  --hmatrix epsilon=1e-3
check "is warned of, with what is attainable" says out 'warning: rtol 1.0e-10 is below ε = 1.0e-03'
check "the solution is a right-hand side" solves 2 kernel points.txt --kernel matern:length=0.02 --method cg --solution y.mtx
check "read again" solves 3 kernel points.txt --kernel matern:length=0.02 --method cg --rhs y.mtx
printf '\xef\xbb\xbf+1 2\n0 +0.5\n' >mark.txt
check "a mark and signs" solves 1 kernel mark.txt --kernel gaussian --method cg
echo "1 2 x" >bad.txt
check "bad points" exits 2 2 kernel bad.txt --kernel gaussian --method cg
check "say line and word" says err "bad.txt, line 1: 'x' is not a finite number"
check "no such kernel" exits 2 1 kernel points.txt --kernel cubic --method cg

check "the benchmark" solves 2 bench hmatrix --sizes 1000 --epsilons 1e-3 --rounds 1 --threads 1 --json bench.json
check "the benchmark has all columns" holds bench.json \
  "all({'compression_seconds', 'of_n2', 'of_nlogn', 'product_seconds', 'of_triad'} <= m.keys() and m['error'] < 1e-3 \
   for m in r['measurements']) and len(r['measurements']) >= 2"

"$STRETTO" list >list.txt 2>/dev/null
check "boundary element problems are listed" says list.txt 'two_spheres:n='
check "kernels are listed" says list.txt 'matern '

finish
