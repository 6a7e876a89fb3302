# SPDX-License-Identifier: BSD-3-Clause
"""The page of what gpu_check.py measured on a GPU."""


def table(first, sizes, rows):
    """Lines of a table, a column for each of the sizes; rows: what its first columns say, and a text by size."""
    lines = ["", f"| {' | '.join(first)} | {' | '.join(f'{size:.0e}'.replace('e+0', 'e') for size in sizes)} |",
             "|" + "---|" * len(first) + "--:|" * len(sizes)]
    for words, texts in rows.items():
        lines.append(f"| {' | '.join(map(str, words))} | {' | '.join(texts.get(size, '') for size in sizes)} |")
    return lines


def decade(number):
    """To tell sizes apart that are nearly the same."""
    return float(f"{number:.0e}")


def pivot(records, words, size, text):
    """What table() takes."""
    rows = {}
    for each in records:
        rows.setdefault(words(each), {})[decade(size(each))] = text(each)
    return sorted({decade(size(each)) for each in records}), rows


def loop(each):
    """What tells loops apart."""
    return each["problem"], each["method"], each["rows"]


def page(data):
    """Its text, of what is in gpu.json."""
    best = max(each["bytes"] / each["seconds"] for each in data["parts"] if each["what"].startswith("copy"))

    def beside(each):
        time = 1e6 * each["seconds"]
        return f"{time:.{0 if time >= 100 else 1}f} ({each['bytes'] / each['seconds'] / best:.2f})"

    lines = [f"# Measured on {data['device']}", "", f"On {data['date']}, by `tools/gpu_check.py measure` ([what there is](../gpu.md)). "
             f"A copy moves at most {best * 1e-9:.0f} GB/s, reads and writes together.", "",
             "## Groups", "", "Microseconds, and in brackets the speed beside that of the copy; by the number of values. Sums are waited for "
             "on the host."]
    groups = [each for each in data["parts"] if not each["what"].startswith("product, ")]
    sizes, rows = pivot(groups, lambda each: (each["what"], each["columns"]), lambda each: each["rows"] * each["columns"], beside)
    lines += table(["what", "columns"], sizes, rows)
    lines += ["", "## Products", "", "The same, by the number of rows. Rows of poisson3d and convdiff3d repeat, those of jump3d do not."]
    products = [dict(each, problem=each["what"][9:].split(":")[0]) for each in data["parts"] if each["what"].startswith("product, ")]
    sizes, rows = pivot(products, lambda each: (each["problem"], each["columns"]), lambda each: each["rows"], beside)
    lines += table(["problem", "columns"], sizes, rows)
    lines += ["", "## Iterations, with jacobi", "", "The same, by unknowns; the bytes are those that an iteration is counted to move."]
    iterations = [dict(each, problem=each["problem"].split(":")[0]) for each in data["iterations"]]

    def words(each):
        return each["problem"], each["method"], each["columns"]

    sizes, rows = pivot(iterations, words, lambda each: each["rows"], beside)
    lines += table(["problem", "method", "columns"], sizes, rows)
    lines += ["", "Several columns beside as many solves one after the other:"]
    single = {(each["method"], each["problem"], each["rows"]): each["seconds"] for each in iterations if each["columns"] == 1}
    sizes, rows = pivot([each for each in iterations if each["columns"] > 1], words, lambda each: each["rows"], lambda each:
                        f"{each['seconds'] / (each['columns'] * single[each['method'], each['problem'], each['rows']]):.2f}")
    lines += table(["problem", "method", "columns"], sizes, rows)
    lines += ["", "## Whole solves, rtol 1e-8", "", "Set-up, of the matrix and the preconditioner, is on the host in both cases.", "",
              "| problem | precond | method | unknowns | GPU, ms | all cores, ms | cores | iterations | set-up, s |",
              "|---|---|---|--:|--:|--:|--:|--:|--:|"]

    def solution(each):
        return each["problem"], each["precond"], each["method"], each["rows"]

    there = {solution(each): each for each in data["solutions"] if each["device"] != "cpu"}
    for each in data["solutions"]:
        if each["device"] == "cpu":
            gpu = there[solution(each)]
            lines.append(f"| {' | '.join(map(str, solution(each)))} | {1e3 * gpu['seconds']:.1f} | {1e3 * each['seconds']:.1f} | "
                         f"{each['threads']} | {gpu['iterations']} | {gpu['setup']:.2f} |")
    if data["loops"]:
        lines += ["", "## Loops as one kernel, with jacobi", "",
                  "Microseconds an iteration, by unknowns: as one kernel, and in brackets with launches. Up to 300,000 rows the first is taken by itself."]
        launched = {loop(each): each for each in data["loops"] if not each["one_kernel"]}
        sizes, rows = pivot([each for each in data["loops"] if each["one_kernel"]], lambda each: (each["problem"], each["method"]),
                            lambda each: each["rows"], lambda each: f"{1e6 * each['seconds']:.1f} ({1e6 * launched[loop(each)]['seconds']:.1f})")
        lines += table(["problem", "method"], sizes, rows)
    if data["cusparse"]:
        lines += ["", "## Loops of cuSPARSE's product and cuBLAS's calls, and CG as one kernel that stays, without a preconditioner", "",
                  "On poisson3d, microseconds an iteration; ours, above, have jacobi besides."]
        sizes, rows = pivot(data["cusparse"], lambda each: (each["method"], each["what"]), lambda each: each["rows"],
                            lambda each: f"{1e6 * each['seconds']:.1f}")
        lines += table(["method", "by"], sizes, rows)
    if data["hmatrix"]:
        lines += ["", "## Products of hierarchical matrices, ε = 1e-4", "", f"Beside a triad of {data['triad']:.0f} GB/s.", "",
                  "| triangles | columns | scheme | the paper's | launches | ms | of the triad |", "|--:|--:|---|---|--:|--:|--:|"]
        lines += [f"| {each['n']} | {each['columns']} | {each['scheme']} | {each['paper']} | {each['launches']} | "
                  f"{1e3 * each['seconds']:.3f} | {each['of_triad']:.2f} |" for each in data["hmatrix"]]
        lines += ["", "## Charges on a sphere, pipelined_bicgstab", "", "| triangles | status | iterations | ms an iteration |", "|--:|---|--:|--:|"]
        lines += [f"| {each['triangles']} | {each['result']['status']} | {each['result']['iterations']} | "
                  f"{1e3 * each['result']['per_iteration']['seconds']:.3f} |" for each in data["charges"]]
    return "\n".join(lines) + "\n"
