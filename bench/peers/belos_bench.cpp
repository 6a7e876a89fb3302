// SPDX-License-Identifier: BSD-3-Clause
// Trilinos' Belos on Tpetra matrices; METHOD is a name of its factory, `TPETRA CG PIPELINE` say. Where iterations are
// timed the tolerance is zero; norms cannot be turned off.
#include <Trilinos_version.h>
#include <BelosSolverFactory_Tpetra.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <vector>

#include "harness.hpp"

namespace {

using Teuchos::RCP;
using Teuchos::rcp;
using Map = Tpetra::Map<>;
using Matrix = Tpetra::CrsMatrix<double>;
using Vectors = Tpetra::MultiVector<double>;
using Operator = Tpetra::Operator<double>;
using Ordinal = Map::global_ordinal_type;

/// x → x ./ diagonal
class Jacobi : public Operator {
public:
    explicit Jacobi(const Matrix& A) : map_(A.getDomainMap()), inverse_(map_) {
        Tpetra::Vector<double> diagonal(map_);
        A.getLocalDiagCopy(diagonal);
        inverse_.reciprocal(diagonal);
    }
    RCP<const Map> getDomainMap() const override { return map_; }
    RCP<const Map> getRangeMap() const override { return map_; }
    void apply(const Vectors& x, Vectors& y, Teuchos::ETransp, double alpha, double beta) const override {
        y.elementWiseMultiply(alpha, inverse_, x, beta);
    }

private:
    RCP<const Map> map_;
    Tpetra::Vector<double> inverse_;
};

struct System {
    System(const stretto::Comm& comm, const stretto::DistributedRows& problem, peers::ordered_json& about) {
        const auto& rows = problem.rows;
        const auto first = static_cast<Ordinal>(problem.partition.first(comm.rank()));
        const auto map = rcp(new Map(static_cast<Tpetra::global_size_t>(problem.partition.rows()), rows.rows(), 0,
                                     Tpetra::getDefaultComm()));
        std::vector<std::size_t> lengths;
        for (std::size_t i = 0; i + 1 < rows.start.size(); ++i)
            lengths.push_back(static_cast<std::size_t>(rows.start[i + 1] - rows.start[i]));
        A = rcp(new Matrix(map, Teuchos::arrayViewFromVector(lengths)));
        std::vector<Ordinal> columns;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            const auto begin = rows.columns.begin() + rows.start[i];
            columns.assign(begin, begin + static_cast<std::ptrdiff_t>(lengths[i]));
            A->insertGlobalValues(first + static_cast<Ordinal>(i), static_cast<int>(lengths[i]),
                                  rows.values.data() + rows.start[i], columns.data());
        }
        A->fillComplete();
        b = rcp(new Vectors(map, 1));
        x = rcp(new Vectors(map, 1));
        r = rcp(new Vectors(map, 1));
        b->putScalar(1);
        about["program"] = "Belos " TRILINOS_VERSION_STRING;
    }

    void multiply() { A->apply(*b, *r); }
    double residual(const RCP<Vectors>& u) {
        A->apply(*u, *r);
        r->update(1, *b, -1);
        const auto norm = [](const Vectors& v) {
            double value = 0;
            v.norm2(Teuchos::arrayView(&value, 1));
            return value;
        };
        return norm(*r) / norm(*b);
    }

    RCP<Matrix> A;
    RCP<Vectors> b, x, r;

    class Solver;
};

class System::Solver {
public:
    Solver(System& system, const std::string& method, const std::string& precond)
        : on_(system),
          method_(method),
          parameters_(Teuchos::parameterList()),
          problem_(rcp(new Belos::LinearProblem<double, Vectors, Operator>(on_.A, on_.x, on_.b))) {
        // From the right, as Stretto; its CG methods take one from the left only.
        if (precond == "jacobi") {
            const auto M = rcp(new Jacobi(*on_.A));
            method.starts_with("TPETRA CG") ? problem_->setLeftPrec(M) : problem_->setRightPrec(M);
        } else if (precond != "none") {
            throw std::invalid_argument("no preconditioner " + precond);
        }
        parameters_->set("Convergence Tolerance", 0.0);
        if (method.find("GMRES") != std::string::npos) {
            parameters_->set("Num Blocks", 30);
            parameters_->set("Maximum Restarts", 100000);
            if (method.ends_with("S-STEP")) parameters_->set("Step Size", 5);
        }
    }

    void prepare(int iterations) {
        on_.x->putScalar(0);
        parameters_->set("Maximum Iterations", iterations);
        problem_->setProblem();
        // Anew, for not all can be reset.
        solver_ = Belos::TpetraSolverFactory<double, Vectors, Operator>().create(method_, parameters_);
        solver_->setProblem(problem_);
    }

    int solve() {
        solver_->solve();
        return solver_->getNumIters();
    }

    void set_tolerance(double rtol) { parameters_->set("Convergence Tolerance", rtol); }

    double residual() { return on_.residual(on_.x); }

private:
    System& on_;
    std::string method_;
    RCP<Teuchos::ParameterList> parameters_;
    RCP<Belos::LinearProblem<double, Vectors, Operator>> problem_;
    RCP<Belos::SolverManager<double, Vectors, Operator>> solver_;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::main<System>(argc, argv, [&](auto&& run) {
        const Tpetra::ScopeGuard guard(&argc, &argv);
        run();
    });
}
