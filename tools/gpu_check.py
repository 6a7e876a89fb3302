#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpu_check.py [PART…]: builds, tests and measures everything on a GPU. Parts, in this order:

build    build/cuda, for the GPU's architecture alone
test     the C++ tests of devices on the emulated device, and those of whole solves on the GPU, on one to three ranks
solves   every method, without and with preconditioners and with several columns, beside the processor
measure  copies, groups, products, iterations of growing systems, cuSPARSE's loops beside ours, hierarchical products
report   what was measured, to gpu.md in --output, beside gpu.json and gpu_machine.json (for stretto predict)

Each part takes less than ten minutes; `build` and `measure` stop after --minutes, end with 3 then, and go on when called again.
Ends with 1 where something is wrong, with 2 where there is no GPU or no nvcc, and says what is missing."""

import argparse
import datetime
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from gpu_page import page

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = ["build", "test", "solves", "measure", "report"]
SPD = ["poisson3d:24", "jump2d:60,contrast=100"]  # rows that repeat, and rows that do not
OTHER = ["convdiff2d:60,peclet=30"]
PRECONDS = ["none", "jacobi", "chebyshev", "block_jacobi:ilu0,blocks=500", "block_jacobi:sai", "amg"]
TIMED = ["cg", "pipelined_cg", "deep_pipelined_cg:l=2", "bicgstab", "pipelined_bicgstab", "gmres", "pipelined_gmres"]
NOT_TOGETHER = [("improved_bicgstab", "amg")]  # it needs products with the transpose of M⁻¹
SOLVED = ["cg", "pipelined_cg"]
LOOPS = {"poisson3d": ["cg", "single_reduction_cg", "pipelined_cg", "predict_and_recompute_cg"], "jump3d": ["cg", "pipelined_cg"],
         "convdiff3d": ["bicgstab", "reordered_bicgstab"]}  # that may be one kernel
LOOP_SIDES = [10, 22, 46, 64, 80, 100]
LOOPS_UP_TO = 300_000  # rows, in include/stretto/execute/device/cuda.hpp
SIDES = [22, 46, 100, 215], [464], [711]  # 1e4 to 4e8 unknowns, the last of 2.5e9 nonzeros
LONG = ["gmres", "pipelined_gmres"]  # whose bases are too large for the largest
SOLVED_SIDES = [16, 32, 64, 128, 215]
HARD, HARD_SIDE = ["poisson3d", "jump3d", "aniso3d"], 128  # where a solve takes many iterations
HARD_PRECONDS = ["jacobi", "chebyshev", "amg"]
QUICK_SIDES = [10]
HMATRIX, HMATRIX_QUICK = ([80_000], [1_000_000]), [500]  # triangles, with each of SIDES


class Missing(Exception):
    """What there is not."""


class Unfinished(Exception):
    """The time is up."""


def output(command, allowed=(0,), **more):
    """What a program says, or ends everything. Kernels are loaded when it starts, not while it is timed."""
    more.setdefault("env", dict(os.environ, CUDA_MODULE_LOADING="EAGER"))
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, command))}\n{(done.stderr or done.stdout).strip()}")
    return done.stdout


def nvcc():
    for name in (os.environ.get("CUDACXX"), "nvcc", "/usr/local/cuda/bin/nvcc"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


def said_by(command):
    """What a program says where it is there and succeeds."""
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout.strip() if done.returncode == 0 else ""


def architecture():
    """Of the first GPU, as CMake has it: 90."""
    found = re.match(r"(\d+)\.(\d+)", said_by(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]))
    return found and found.group(1) + found.group(2)


def subject(options):
    """What is measured: a GPU and a program, by its bytes: there may be no git where the GPU is."""
    return [said_by(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]),
            hashlib.sha256(options.stretto.read_bytes()).hexdigest()]


def look_around():
    """Raises Missing with all that is, at once."""
    missing = []
    if not nvcc():
        missing.append("no nvcc, CUDA's compiler (CUDACXX=/path/to/nvcc names it)")
    if not list(pathlib.Path("/dev").glob("nvidia[0-9]*")):
        missing.append("no GPU (/dev/nvidia0)")
    elif not architecture():
        missing.append("no answer from the GPU (nvidia-smi --query-gpu=compute_cap)")
    if missing:
        raise Missing("; ".join(missing))


def build(options):
    """Configures and builds for so many minutes."""
    environment = dict(os.environ, CUDACXX=nvcc())
    output(["cmake", "--preset", "cuda", "-B", options.build, f"-DCMAKE_CUDA_ARCHITECTURES={architecture()}-real"], cwd=ROOT,
           env=environment)
    targets = ["stretto_cli", "device_bench", "test_emulator", "test_device_statements", "test_device_matrix", "test_device_solves",
               "test_device_hmatrix", "test_several_devices", "test_one_kernel"]
    with subprocess.Popen(["cmake", "--build", str(options.build), "-j", str(os.cpu_count()), "--target", *targets],
                          start_new_session=True) as process:
        try:
            if process.wait(60 * options.minutes) != 0:
                sys.exit(1)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            process.wait()
            raise Unfinished("build") from None
    return True


def test(options):
    """Whether the tests in C++ pass."""
    command = ["ctest", "--test-dir", str(options.build), "--output-on-failure"]
    emulated = subprocess.run([*command, "-L", "^device$"], check=False).returncode
    there = subprocess.run([*command, "-R", "^test_(device_(solves|hmatrix)|several_devices|one_kernel)_"], check=False,
                           env=dict(os.environ, STRETTO_TEST_DEVICE=options.device)).returncode
    return emulated == 0 and there == 0


def solve(options, device, problem, methods, *more, ranks=1, one_kernel=""):
    """The results, by method. Ends everything where the program does not run. `one_kernel`: STRETTO_ONE_KERNEL."""
    command = ["mpiexec", "-n", str(ranks)] if ranks > 1 else []
    command += [options.stretto, "solve", problem, "--device", device, "--json", "-", *more]
    for method in methods:
        command += ["--method", method]
    environment = dict(os.environ, CUDA_MODULE_LOADING="EAGER", STRETTO_ONE_KERNEL=one_kernel)
    results = json.loads(output(command, allowed=(0, 1), env=environment))
    return {each["method"]: each for each in (results if isinstance(results, list) else [results])}


def has_amg(options):
    """Whether hypre is in the build."""
    command = [options.stretto, "solve", "poisson2d:3", "--method", "cg", "--precond", "amg"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def names(options, symmetric):
    """Methods, those for symmetric matrices or the others."""
    listed = json.loads(output([options.stretto, "list", "--json", "-"]))
    return [each["name"] for each in listed["methods"] if (each["needs"] == "square") != symmetric]


def solves(options):
    """Statuses must be equal, and iterations nearly: sums are added up in another order."""
    wrong = 0
    preconds = [each for each in PRECONDS if each != "amg" or has_amg(options)]
    for problems, symmetric in ((SPD, True), (OTHER, False)):
        for problem in problems:
            for more in [["--precond", each] for each in preconds] + [["--columns", "3", "--rhs", "random"]]:
                if symmetric and "sai" in more[1]:
                    continue
                methods = [name for name in names(options, symmetric) if (name, more[1]) not in NOT_TOGETHER]
                here = solve(options, "cpu", problem, methods, *more)
                there = solve(options, options.device, problem, methods, *more)
                for name, result in there.items():
                    other = here[name]
                    near = abs(result["iterations"] - other["iterations"]) <= 2 + 0.2 * other["iterations"]
                    same = result["status"] == other["status"] and near
                    wrong += not same
                    print(f"{'ok' if same else 'NO':3} {problem:24} {' '.join(more):40} {name:26} "
                          f"{result['status']} {result['iterations']} (cpu: {other['status']} {other['iterations']})")
    print(f"{wrong} solves differ")
    return wrong == 0


def lines_of_json(text):
    return [json.loads(line) for line in text.splitlines()]


def measure_part(options, part, data):
    """Of what methods are made of."""
    bench = options.build / "bench" / ("device_bench" if options.device == "cuda" else "device_bench_emulated")
    device, *records = lines_of_json(output([bench, part, "20000" if options.quick else "1e7" if part == "products" else "1e8"]))
    data["device"] = device["device"]
    data["parts"] += records


def measure_iterations(options, problem, columns, data):
    """Of every method; the host's rows of a rank have fewer than 2³¹ nonzeros, so that four ranks share the GPU."""
    rows = int(problem.split(":")[1]) ** 3
    ranks = 4 if 7 * rows >= 2**31 else 1
    methods = [name for name in TIMED if rows < 2e8 or name not in LONG]
    more = ["--max-it", "100", "--rtol", "0", "--columns", str(columns), "--rhs", "random", "--precond", "jacobi"]
    for name, result in solve(options, options.device, problem, methods, *more, ranks=ranks).items():
        data["iterations"].append({"method": name, "problem": problem, "rows": rows, "columns": columns, "ranks": ranks,
                                   "bytes": result["per_iteration"]["bytes"], "seconds": result["per_iteration"]["seconds"]})


def measure_loops(options, side, data):
    """Loops as one kernel, and with launches."""
    for problem, methods in LOOPS.items():
        for form in ("0", "1"):
            for name, result in solve(options, options.device, f"{problem}:{side}", methods, "--rhs", "random", "--precond", "jacobi",
                                      one_kernel=form).items():
                data["loops"].append({"method": name, "problem": problem, "rows": side**3, "one_kernel": form == "1",
                                      "iterations": result["iterations"], "status": result["status"],
                                      "barriers": result["per_iteration"]["applies"] + result["per_iteration"]["reductions"],
                                      "seconds": result["per_iteration"]["seconds"], "solve": result["seconds"]["solve"]})


def measure_solutions(options, problem, precond, methods, data):
    """Whole solves, on the GPU and on all cores of the processor beside it."""
    for device in (options.device, "cpu"):
        for name, result in solve(options, device, problem, methods, "--precond", precond).items():
            data["solutions"].append({"method": name, "problem": problem.split(":")[0], "precond": precond, "rows": result["rows"],
                                      "device": device, "threads": result["threads"],
                                      "status": result["status"], "iterations": result["iterations"],
                                      "seconds": result["seconds"]["solve"], "setup": result["seconds"]["setup"]})


def measure_cusparse(options, sides, data):
    """NVIDIA's libraries, call by call."""
    data["cusparse"] = lines_of_json(output([options.build / "bench" / "device_bench", "cusparse",
                                             *(f"poisson3d:{side}" for side in sides)]))


def measure_hmatrix(options, triangles, data):
    """Products of a sphere, by every scheme where it is not large, and a charge on it."""
    study = json.loads(output([options.stretto, "bench", "hmatrix", "--device", options.device, "--sizes", str(triangles),
                               "--epsilons", "1e-4", "--schemes", "all" if triangles < 200_000 else "ours", "--json", "-"]))
    data["hmatrix"] += study["measurements"]
    data["triad"] = study["triad_gigabytes_per_second"]
    solve = json.loads(output([options.stretto, "bem", f"sphere:n={triangles}", "--device", options.device, "--hmatrix", "epsilon=1e-4",
                               "--method", "pipelined_bicgstab", "--json", "-"], allowed=(0, 1)))
    data["charges"].append({"triangles": triangles, "result": solve})


def measure(options):
    """All figures, kept as they come: what is there of this GPU and this version is not measured again."""
    def iterations(problem, columns):
        return (f"iterations {problem} {columns}", lambda data: measure_iterations(options, problem, columns, data))

    def part(name):
        return (name, lambda data: measure_part(options, name, data))

    def solutions(problem, precond, methods):
        return (f"solutions {problem} {precond}", lambda data: measure_solutions(options, problem, precond, methods, data))

    def hmatrix(triangles):
        return (f"hmatrix {triangles}", lambda data: measure_hmatrix(options, triangles, data))

    sides, solved, spheres = ([QUICK_SIDES], QUICK_SIDES, [HMATRIX_QUICK]) if options.quick else (SIDES, SOLVED_SIDES, HMATRIX)
    steps = [part("copy"), part("groups"), part("products")]
    steps += [iterations(f"{name}:{side}", columns) for side in sides[0] for name in ("poisson3d", "jump3d") for columns in (1, 16)]
    loop_sides = QUICK_SIDES if options.quick else LOOP_SIDES
    steps += [(f"loops {side}", lambda data, side=side: measure_loops(options, side, data)) for side in loop_sides]
    steps += [solutions(f"poisson3d:{side}", "jacobi", SOLVED) for side in solved]
    steps += [solutions(f"{name}:{QUICK_SIDES[0] if options.quick else HARD_SIDE}", precond, ["cg"]) for name in HARD
              for precond in HARD_PRECONDS if (name, precond) != ("poisson3d", "jacobi") and (precond != "amg" or has_amg(options))]
    if options.device == "cuda":
        steps.append(("cusparse", lambda data: measure_cusparse(options, sides[0], data)))
    steps.append(("machine", lambda data: machine(options, data)))
    steps += [hmatrix(triangles) for triangles in spheres[0]]
    for large, triangles in itertools.zip_longest(sides[1:], spheres[1:], fillvalue=[]):
        steps += [iterations(f"poisson3d:{side}", 1) for side in large] + [hmatrix(number) for number in triangles]
    path = options.output / "gpu.json"
    data = {"done": []} if options.fresh or not path.exists() else json.loads(path.read_text())
    if len(data["done"]) in (0, len(steps)) or data.get("subject") != subject(options):
        data = {"subject": subject(options), "date": datetime.date.today().isoformat(), "parts": [], "iterations": [], "loops": [], "solutions": [],
                "cusparse": [], "hmatrix": [], "charges": [], "done": []}
    options.output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    for name, step in steps:
        if name in data["done"]:
            continue
        if time.monotonic() - began > 30 * options.minutes:  # the longest takes as long again
            raise Unfinished("measure")
        print(f"{name} …", flush=True)
        step(data)
        data["done"].append(name)
        path.write_text(json.dumps(data, indent=1) + "\n")
    return True


def machine(options, data):
    """A machine for `stretto predict`: the host's, with the device's bandwidths and what a launch costs."""
    path = options.output / "gpu_machine.json"
    if options.quick:
        shutil.copy(ROOT / "share" / "machines" / "cori.json", path)
    else:
        output([options.stretto, "machine", path])
    file = json.loads(path.read_text())
    file["name"] = f"measured on {data['device']}"

    def taken(what):
        found = [each for each in data["parts"] if each["what"] == what and each["columns"] == 1]
        return sorted((each["bytes"], each["seconds"]) for each in found)

    def rates(what):
        """Of what a kernel takes beyond the smallest of them, where that is seen."""
        (_, least), *others = taken(what)
        return [[moved, moved / (seconds - least)] for moved, seconds in others if seconds > 1.2 * least] or [
            [moved, moved / seconds] for moved, seconds in taken(what)]

    def put(name, value, unit, source):
        file["parameters"][name] = {"value": value, "unit": unit, "source": source}

    updates, kernel, of_sums = rates("update"), taken("update")[0][1], taken("dots")[0][1]
    put("bandwidth_by_bytes", updates, "B, B/s of a node", "measured: updates z = x + a y, less the smallest of them")
    put("reads_by_bytes", rates("dots"), "B, B/s of a node", "measured: two dot products, less the smallest of them")
    put("memory_bandwidth", updates[-1][1], "B/s of a node", "measured: the updates of the most bytes")
    put("cache_bandwidth", max(rate for _, rate in updates), "B/s of a node", "measured: the fastest updates")
    put("kernel", kernel, "s", "measured: the smallest update, a launch")
    put("all_reduce", [max(of_sums - kernel, 0), 0, 0, 0], "s, C0 alone: one rank", "measured: the smallest dot product, less that: "
        "the way of a sum to the host")
    put("one_kernel", [barrier_of(data["loops"]), LOOPS_UP_TO], "s of a barrier with its sums, rows",
        "measured: loops as one kernel with the fewest rows, seconds an iteration over its products and sums, their median; rows as the "
        "library has it")
    path.write_text(json.dumps(file, indent=2) + "\n")


def barrier_of(loops):
    """Seconds of a barrier in a kernel, of loops so small that they take nothing else."""
    few = sorted({each["rows"] for each in loops})[:2]
    return statistics.median(each["seconds"] / each["barriers"] for each in loops if each["one_kernel"] and each["rows"] in few)


def report(options):
    """The page of what was measured."""
    data = json.loads((options.output / "gpu.json").read_text())
    (options.output / "gpu.md").write_text(page(data))
    print(options.output / "gpu.md")
    return True


def main():
    """What the command line says."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS) + " (default: all)")
    arguments.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "cuda")
    arguments.add_argument("--stretto", type=pathlib.Path, help="the program (default: of the build)")
    arguments.add_argument("--device", default="cuda", choices=["cuda", "emulated"], help="emulated: to try this script")
    arguments.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "gpu", help="where gpu.json and gpu.md go")
    arguments.add_argument("--minutes", type=float, default=9, help="that `build` and `measure` take at most")
    arguments.add_argument("--fresh", action="store_true", help="forget what was measured before")
    arguments.add_argument("--quick", action="store_true", help="small sizes, and the network of another machine")
    options = arguments.parse_args()
    options.stretto = options.stretto or options.build / "stretto"
    for part in options.parts:
        if part not in PARTS:
            arguments.error(f"there is no part '{part}': {', '.join(PARTS)}")
    if options.device == "cuda" and options.parts != ["report"]:
        try:
            look_around()
        except Missing as missing:
            print(f"gpu_check: {missing}; without a GPU: make test CTEST_ARGS='-L device', make cuda", file=sys.stderr)
            return 2
    for part in options.parts or PARTS:
        print(f"---- {part}", flush=True)
        try:
            if not {"build": build, "test": test, "solves": solves, "measure": measure, "report": report}[part](options):
                return 1
        except FileNotFoundError as error:
            print(f"gpu_check: there is no {error.filename}: " + ("measure writes it" if part == "report" else "build makes it, or --stretto "
                  "names the program"), file=sys.stderr)
            return 2
        except Unfinished as unfinished:
            print(f"gpu_check: {unfinished} is not done after {options.minutes:g} minutes: call it again", file=sys.stderr)
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
