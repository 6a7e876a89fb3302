// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stretto/driver/result.hpp"
#include "stretto/model/execution_time.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// A machine whose times are known (`stretto machine`): what is chosen by them is the same in every run.
struct KnownMachine {
    ModelMachine model;
    double gamma = 0;  ///< what of a sum behind work remains, from 0 (all is hidden) to 1 (nothing is)
};

/// Seconds that the parts of an iteration take, the same on every rank: those of the slowest.
struct PartTimes {
    int columns = 1;
    double rows = 0;          ///< of a rank
    double product = 0;       ///< with A
    double vector = 0;        ///< a vector of all columns read or written
    double kernel = 0;        ///< what each pass, product and preconditioner takes besides
    double reduction = 0;     ///< of a few values
    double remains = 0;       ///< γ: what of a reduction behind work remains
    double bandwidth = 0;     ///< bytes per second of a rank
    bool of_machine = false;  ///< a KnownMachine's; else measured

    /// Of a preconditioner that moves so many bytes on a rank.
    double preconditioner(double bytes) const { return bytes > 0 ? kernel + bytes / bandwidth : 0; }
};

/// Collective. A product or two and, where no emulated network says what they take, a few reductions are timed; with
/// `machine` nothing is.
PartTimes part_times(Comm& comm, const CsrMatrix<double>& A, int columns, const KnownMachine* machine);

/// What a way to solve is expected to take.
struct Expectation {
    NextStep step{};
    double setup = 0;       ///< seconds of the preconditioner's set-up, assumed; after a trial what it took
    double outside = 0;     ///< seconds of the solve that are in no iteration
    double iteration = 0;   ///< seconds
    double iterations = 0;  ///< assumed; after a trial those at its rate, of what was left those it ran
    enum class From { assumption, trial, run } from = From::assumption;  ///< iterations
    int trial = 0;                                                       ///< iterations of a trial
    double residual = 1;                                                 ///< after them, relative
    bool left = false;                                                   ///< it was given up for another
    double at_first = 0;     ///< seconds that were expected before anything ran; 0: those of seconds()
    std::string ended = {};  ///< how it ended then, in words

    double seconds() const { return setup + outside + iteration * iterations; }
    double seconds_at_first() const { return at_first > 0 ? at_first : seconds(); }
};

/// What was chosen, and why. Of convergence nothing is predicted: iterations are assumed by the kind of preconditioner
/// until a run tells.
struct Choice : NextStep {
    PartTimes parts;
    double seconds = 0;                   ///< that it took to choose, measurements included
    Expectation expected;                 ///< of what was chosen last, before it ran
    std::vector<Expectation> methods;     ///< of the family, with the same preconditioner, the quickest first
    std::vector<Expectation> runners_up;  ///< with other preconditioners, in the order in which they are gone on with
    std::vector<std::string> trials;      ///< what was found out before the choice, in sentences
    std::vector<std::string> reasons;     ///< sentences, those of the trials last
    std::vector<std::string> changes;     ///< of mind, while it ran
};

/// Seconds of an iteration, by the execution-time model: `preconditioner` seconds of one use, 0 for none.
double iteration_seconds(const PartTimes& parts, const std::string& method, double preconditioner);

/// The methods that have the same iterates as a classic one, or nearly, the quickest first, for about so many
/// iterations. `transposes`: the preconditioner has a transpose.
std::vector<Expectation> rank_methods(const PartTimes& parts, const std::string& classic, const std::string& precond,
                                      double preconditioner, double iterations, bool transposes = true);

/// The same for the quickest alone, about as quickly as it is said: the time of an iteration by the methods' rows in
/// the registry, and not by their texts. No method is named.
Expectation quickest_of_family(const PartTimes& parts, const std::string& classic, double preconditioner,
                               double iterations);

/// Why a method, in one sentence with the times that decided: `preconditioner` seconds of one use, in which are so many
/// reductions of its own.
std::string why_method(const PartTimes& parts, const std::string& method, double preconditioner,
                       int own_reductions = 0);

/// Whether a specification leaves a depth or a block size to be chosen: l=auto, s=auto.
bool has_automatic_depth(const std::string& method);
/// The same with the depth or block size that takes least. `NAME` where nothing is left to choose.
std::string with_depth(const PartTimes& parts, const std::string& method, double preconditioner);
/// The specification with its `auto` left out, for checks before anything is known.
std::string without_automatic(const std::string& method);

}  // namespace stretto
