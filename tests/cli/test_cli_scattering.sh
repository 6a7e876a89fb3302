#!/bin/bash
# stretto bem --wave-number: scattered waves, complex hierarchical matrices.
. "$(dirname "$0")/cli_checks.bash"

check "a sphere" solves 1 bem sphere:n=720,radius=2 --wave-number 1 --json run.json --vtk run.vtu --picture run.svg --solution x.mtx
check "is told complex" holds run.json "r['scalar'] == 'complex' and r['converged'] and r['rows'] == 720"
check "its far field is Mie's" holds run.json "r['bem']['relative_error'] < 0.02 and r['bem']['truth']['what'] == 'far field'"
check "energy is kept" holds run.json "r['bem']['energy_error'] < 0.02"
check "the residual with the kernel is small" holds run.json "r['hmatrix']['kernel_residual'] < 1e-5"
check "the wave's length is told" says out 'a wave of length 6.283, the longest side of a triangle is 0.'
check "people are told, too" says out "far field and Mie's series differ by"
check "the VTK file is XML" python3 -c "import xml.dom.minidom; xml.dom.minidom.parse('run.vtu')"
check "the VTK file has two parts" says run.vtu 'Name="imaginary part"'
check "the picture is XML" python3 -c "import xml.dom.minidom; xml.dom.minidom.parse('run.svg')"
check "the solution is complex" says x.mtx '^%%MatrixMarket matrix array complex general'
check "with a line for each triangle" says x.mtx '^720 1$'
cp run.json one.json
same="
import json
a = json.load(open('one.json'))['bem']; b = json.load(open('run.json'))
b = (b if isinstance(b, dict) else b[-1])['bem']
assert abs(complex(*a['forward']) - complex(*b['forward'])) < 1e-4 * abs(complex(*a['forward']))
assert abs(a['cross_section'] - b['cross_section']) < 1e-4 * a['cross_section']"

for ranks in 2 3; do
  check "on $ranks ranks" solves $ranks bem sphere:n=720,radius=2 --wave-number 1 --method bicgstab --method pipelined_gmres --json run.json
  check "it is the same on $ranks ranks" python3 -c "$same"
  check "replicated on $ranks ranks" solves $ranks bem sphere:n=720,radius=2 --wave-number 1 --layout replicated --json run.json
  check "it is the same on $ranks ranks, replicated" python3 -c "$same"
done
check "from another side" solves 2 bem sphere:n=720,radius=2 --wave-number 1 --direction 1,2,-2 --json run.json
check "a sphere looks about the same" holds run.json "abs(r['bem']['cross_section'] / $(python3 -c "
import json; print(json.load(open('one.json'))['bem']['cross_section'])") - 1) < 1e-3"
check "charges alone" solves 1 bem sphere:n=720,radius=2 --wave-number 1 --layer single --json run.json
check "they do, too" holds run.json "r['bem']['relative_error'] < 0.02"
check "a body that nobody knows" solves 2 bem humanoid:n=800 --wave-number 3 --json run.json
check "keeps energy" holds run.json "r['bem']['truth'] is None and r['bem']['energy_error'] < 0.1"
check "two bodies" solves 2 bem two_spheres:n=720,distance=3 --wave-number 2 --precond none --hmatrix epsilon=1e-4 --rtol 1e-4
check "too few triangles" solves 1 bem sphere:n=80 --wave-number 9
check "are warned of" says out 'warning: that is too long'

check "a wave number below zero" exits 2 1 bem sphere:n=80 --wave-number -1
check "is refused" says err 'wave number -1: a number above 0'
check "a wave that no triangle sees" exits 2 2 bem sphere:n=80 --wave-number 1e6
check "is refused, with what helps" says err 'wave lengths; a quarter is needed, by more triangles or a smaller wave number'
check "nearly no wave" solves 1 bem sphere:n=80 --wave-number 1e-250 --json run.json
check "is one of charges" holds run.json "abs(r['bem']['cross_section'] / 12.57 - 1) < 0.2"
check "no wave number" exits 2 1 bem sphere:n=80 --wave-number 0
check "is none" says err 'wave number 0: a number above 0'
check "a direction of charges" exits 2 2 bem sphere:n=80 --direction 1,0,0
check "has no meaning" says err 'direction is of a wave: it goes with --wave-number'
check "a layer of charges" exits 2 1 bem sphere:n=80 --layer single
check "has none, too" says err 'layer is of a wave'
check "a direction of any length" solves 1 bem sphere:n=80 --wave-number 1 --direction 0,1e200,1e200
check "a long wave" solves 1 bem sphere:n=720 --wave-number 1e-6 --rtol 1e-8 --json run.json
check "is scattered all ways alike" holds run.json "r['bem']['relative_error'] < 0.01"
check "galerkin" exits 2 2 bem sphere:n=80 --wave-number 1 --testing galerkin
check "is refused, too" says err 'goes with --testing collocation'
check "no direction" exits 2 2 bem sphere:n=80 --wave-number 1 --direction 0,0,0
check "is refused by name" says err 'direction .0, 0, 0. of the wave is none'
check "two numbers" exits 2 1 bem sphere:n=80 --wave-number 1 --direction 1,2
check "are no direction" says err 'three numbers'
check "cg" exits 2 2 bem sphere:n=80 --wave-number 1 --method cg
check "needs another matrix" says err 'cg needs a .* matrix'
check "inner" exits 2 2 bem sphere:n=80 --wave-number 1 --method gmres:flexible=1 --precond inner
check "is for real ones" says err 'inner is for real matrices'
check "a device" exits 2 1 bem sphere:n=80 --wave-number 1 --device emulated
check "is for real ones, too" says err 'complex systems are solved on the processor'
finish
