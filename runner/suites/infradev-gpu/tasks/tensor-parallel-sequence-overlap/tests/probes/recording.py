"""What goes through a group, and what is computed meanwhile."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchfleet.dist import Group

PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "matmul", "linear"}
STARTS = ("start_all_gather", "start_reduce_scatter")


class Recording(TorchDispatchMode):
    """Notes each transfer of every group, and whether a matrix product ran between its start and its end.

    Use it as a context; autograd then runs its backward passes on this thread.
    """

    def __init__(self, monkeypatch):
        super().__init__()
        self.transfers = []
        self._products = 0
        self._gathered = []
        self._threads = torch.autograd.set_multithreading_enabled(False)
        for name in STARTS:
            monkeypatch.setattr(Group, name, self._started(name, getattr(Group, name)))
        monkeypatch.setattr(Group, "all_reduce", self._whole("all_reduce", Group.all_reduce))

    def __enter__(self):
        self._threads.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self._threads.__exit__(*error)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self._products += func.overloadpacket.__name__ in PRODUCTS
        return func(*args, **(kwargs or {}))

    def exposed(self):
        """Transfers that nothing was computed beside."""
        return [transfer["name"] for transfer in self.transfers if not transfer["products"]]

    def dtypes(self):
        """Dtypes of what was sent."""
        return {transfer["dtype"] for transfer in self.transfers}

    def kept_bytes(self):
        """Bytes of gathered tensors that something still holds."""
        return sum(tensor.nbytes for tensor in (reference() for reference in self._gathered) if tensor is not None)

    def _note(self, name, tensor):
        self.transfers.append({"name": name, "dtype": tensor.dtype, "products": 0})
        return self.transfers[-1]

    def _started(self, name, original):
        def start(group, tensor, *args, **kwargs):
            transfer, before = self._note(name, tensor), self._products
            pending = original(group, tensor, *args, **kwargs)
            wait = pending.wait

            def ended():
                transfer["products"] = transfer["products"] or self._products - before
                result = wait()
                if name == "start_all_gather":
                    self._gathered.append(weakref.ref(result))
                return result

            pending.wait = ended
            return pending

        return start

    def _whole(self, name, original):
        def run(group, tensor, *args, **kwargs):
            self._note(name, tensor)
            return original(group, tensor, *args, **kwargs)

        return run


def saved_bytes(run, parameters):
    """The bytes that autograd keeps of one call for the way back, without parameters; and the call's result."""
    known = {parameter.untyped_storage().data_ptr() for parameter in parameters}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = run()
    return sum(kept.values()), result
