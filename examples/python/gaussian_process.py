# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian process regression with the calls of scikit-learn's estimators, on a hierarchical matrix."""

import numpy as np

import stretto


class GaussianProcessRegressor:
    """fit(X, y), predict(X), score(X, y), as sklearn.gaussian_process.GaussianProcessRegressor has them, for a Gaussian kernel, one to
    three features, and more samples than a dense factorisation takes.

    Parameters
    ----------
    length : float
        Of the kernel exp(−‖x − y‖² / (2 length²)).
    alpha : float
        Variance of the noise.
    tol : float
        ‖y − K w‖ / ‖y‖ of the weights.
    """

    def __init__(self, length=0.2, alpha=0.01, tol=1e-4):
        self.length, self.alpha, self.tol = length, alpha, tol

    def get_params(self, deep=True):
        return {"length": self.length, "alpha": self.alpha, "tol": self.tol}

    def set_params(self, **params):
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X, y):
        self.X_train_ = np.asarray(X, dtype=float)
        self.mean_ = np.mean(y, axis=0)
        self.covariance_ = stretto.HMatrix(self.X_train_, f"gaussian:length={self.length},nugget={self.alpha}", rtol=self.tol)
        solved = self.covariance_.solve(np.asarray(y, dtype=float) - self.mean_)
        if not solved.converged:
            raise RuntimeError(f"the weights were not found: {solved.status}; try {[step['call'] for step in solved.next]}")
        self.weights_, self.n_iter_ = solved.x, solved.iterations
        return self

    def predict(self, X):
        X = np.asarray(X, dtype=float)
        mean = []
        for strip in np.array_split(X, max(1, len(X) * len(self.X_train_) // 10**7)):
            squares = ((strip[:, None, :] - self.X_train_[None, :, :]) ** 2).sum(axis=2)
            mean.append(np.exp(-squares / (2 * self.length**2)) @ self.weights_)
        return np.concatenate(mean) + self.mean_

    def score(self, X, y):
        residual, spread = np.asarray(y) - self.predict(X), np.asarray(y) - np.mean(y)
        return 1 - (residual**2).sum() / (spread**2).sum()


def measured(n, rng):
    X = rng.random((n, 2))
    return X, np.sin(5 * X[:, 0]) + np.cos(7 * X[:, 1]) + 0.1 * rng.standard_normal(n)


if __name__ == "__main__":
    rng = np.random.default_rng(2)
    X, y = measured(600, rng)
    model = GaussianProcessRegressor(tol=1e-8).fit(X, y)
    K = np.exp(-((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2) / (2 * 0.2**2)) + 0.01 * np.eye(len(X))
    dense = np.linalg.solve(K, y - y.mean())
    print(f"600 samples: weights differ from a dense solve's by {np.linalg.norm(model.weights_ - dense) / np.linalg.norm(dense):.1e}")
    assert np.linalg.norm(model.weights_ - dense) < 1e-4 * np.linalg.norm(dense)
    try:
        from sklearn.gaussian_process import GaussianProcessRegressor as Dense
        from sklearn.gaussian_process.kernels import RBF
        theirs = Dense(RBF(0.2), alpha=0.01, optimizer=None).fit(X, y - y.mean())
        at = rng.random((50, 2))
        print(f"and predictions from scikit-learn's by {np.abs(model.predict(at) - theirs.predict(at) - y.mean()).max():.1e}")
    except ImportError:
        pass
    X, y = measured(10000, rng)
    model = GaussianProcessRegressor().fit(X, y)
    print(f"10,000 samples: R² {model.score(*measured(500, rng)):.4f} after {model.n_iter_} iterations, {model.covariance_}")
    assert model.score(*measured(500, rng)) > 0.98
