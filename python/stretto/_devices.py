# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in the memory of a device, of whatever library, as the compiled module takes them: an address and a shape."""

from __future__ import annotations

import sys

import numpy as np

from . import _core

_CPU, _PINNED, _CUDA, _MANAGED, _OTHER = 1, 3, 2, 13, 12  # devices, as DLPack numbers them
_FLOAT = 2


class DeviceArray:
    """Doubles in the memory of a device: what a solve returns there where the library that b is of cannot take them over.

    Libraries of arrays take it over without a copy: ``cupy.from_dlpack``, ``torch.from_dlpack``, ``numba.cuda.as_cuda_array``, by DLPack
    or ``__cuda_array_interface__``.

    Parameters
    ----------
    values : array, (n,) or (n, m)
        On the host; copied to the device.
    device : str
        ``cuda`` or ``emulated``.

    Raises
    ------
    InputError
        A ValueError, where there is no such device.

    Examples
    --------
    >>> import stretto
    >>> stretto.DeviceArray([1.0, 2.0], "emulated").get()
    array([1., 2.])
    """

    def __init__(self, values, device="cuda"):
        values = np.ascontiguousarray(values, dtype=np.float64)
        self.device, self._vectors = device, _core.Vectors(device, values.shape)
        self._vectors.send(values.reshape(len(values), -1))

    @classmethod
    def _empty(cls, shape, device):
        made = cls.__new__(cls)
        made.device, made._vectors = device, _core.Vectors(device, shape)
        return made

    @property
    def shape(self):
        """(n,), or (n, m) of m columns."""
        return tuple(self._vectors.shape)

    @property
    def ndim(self):
        """1 or 2."""
        return len(self.shape)

    @property
    def dtype(self):
        """Double precision."""
        return np.dtype(np.float64)

    def __len__(self):
        return self.shape[0]

    def get(self):
        """A copy on the host, as of CuPy's arrays."""
        return View(self).get(self.device)

    @property
    def __cuda_array_interface__(self):
        if self.device != "cuda":
            raise AttributeError("__cuda_array_interface__")
        return {"shape": self.shape, "typestr": "<f8", "data": (self._vectors.address, False), "version": 3, "strides": None, "stream": None}

    def __dlpack__(self, **_):  # all that was launched for it has run: there is no stream to wait for
        return self._vectors.dlpack()

    def __dlpack_device__(self):
        return self._vectors.dlpack_device

    def __repr__(self):
        return f"<stretto.DeviceArray {' × '.join(map(str, self.shape))} on {self.device}>"


class View:
    """An array on a device, looked at: address and shape. Throws TypeError where it is no vector of doubles in one piece."""

    def __init__(self, array, name="the array"):
        self.array = array  # keeps what is looked at
        if isinstance(array, DeviceArray):
            self.address, self.shape = array._vectors.address, array.shape
            return
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            self.address, self.shape, strides, kind = interface["data"][0] or 0, tuple(interface["shape"]), interface.get("strides"), interface["typestr"]
            strides = strides and tuple(step // 8 for step in strides)
            is_double = kind in ("<f8", "=f8")
        else:
            self.address, self.shape, strides, code, bits, _ = _core.look_by_dlpack(array)
            is_double, kind = (code, bits) == (_FLOAT, 64), f"code {code} of {bits} bits"
        if not is_double:
            raise TypeError(f"{name} lies on a device and has numbers of type {kind}: double precision is wanted")
        if len(self.shape) not in (1, 2):
            raise ValueError(f"{name} has {len(self.shape)} dimensions: a vector of n numbers, or n × m for m right-hand sides")
        if strides and not _in_one_piece(self.shape, strides):
            raise TypeError(f"{name} lies on a device in pieces: rows one after the other are wanted, as ascontiguousarray makes them")

    @property
    def columns(self):
        return 1 if len(self.shape) == 1 else self.shape[1]

    def get(self, device):
        """A copy on the host."""
        values = np.empty((self.shape[0], self.columns))
        _core.bring(device, self.address, values)
        return values.reshape(self.shape)


def _in_one_piece(shape, strides):
    expected = 1
    for size, step in zip(reversed(shape), reversed(strides)):
        if size > 1 and step != expected:
            return False
        expected *= size
    return True


def lies_on(array):
    """The device that an array is on: ``cuda``, or ``emulated``; None: this processor."""
    if isinstance(array, np.ndarray):
        return None
    if isinstance(array, DeviceArray):
        return array.device
    if getattr(array, "__cuda_array_interface__", None) is not None:
        return "cuda"
    if hasattr(array, "__dlpack_device__"):
        kind = int(array.__dlpack_device__()[0])
        if kind in (_CUDA, _MANAGED):
            return "cuda"
        if kind == _OTHER:
            return "emulated"
        if kind not in (_CPU, _PINNED):
            raise TypeError(f"an array of {type(array).__module__} lies on a device (DLPack's number {kind}) that stretto does not have: "
                            f"bring it to the host, or to a GPU of NVIDIA's")
    return None


def guess(x0, b, device):
    """A new array for x beside b, a View, with the initial guess in it; whether there is one."""
    x = DeviceArray._empty(b.shape, device)
    if x0 is None:
        return x, False
    if lies_on(x0) is None:
        x0 = DeviceArray(x0, device)
    start = View(x0, "x0")
    if start.shape != b.shape:
        raise ValueError(f"x0 has the shape {start.shape}, b has {b.shape}")
    x._vectors.copy(start.address)
    return x, True


def in_kind(x, b):
    """x, of NumPy or a DeviceArray, as an array of the library that b is of, where that takes arrays over."""
    if isinstance(b, (np.ndarray, DeviceArray)) or not (hasattr(b, "__dlpack__") or hasattr(b, "__cuda_array_interface__")):
        return x
    library = type(b).__module__.partition(".")[0]
    if isinstance(x, DeviceArray) and library == "numba":
        return sys.modules["numba.cuda"].as_cuda_array(x)
    library = sys.modules.get("jax.numpy" if library == "jaxlib" else library)
    take = getattr(library, "from_dlpack" if isinstance(x, DeviceArray) else "asarray", None)
    return take(x) if take else x
