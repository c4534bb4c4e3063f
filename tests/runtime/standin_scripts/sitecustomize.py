"""Stands for the one of `raymigrate verify`: import hooks, for the driver and the workers."""

import importlib.abc
import sys

import raymigrate_standin
from raymigrate_cluster import name_own_cluster

hooks = {}


def after(name):
    return lambda patch: hooks.setdefault(name, []).append(patch)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in hooks:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in others if spec is not None), None)
        if spec is not None:
            execute = spec.loader.exec_module

            def executed(module):
                execute(module)
                for patch in hooks[name]:
                    patch(module)

            spec.loader.exec_module = executed
        return spec


name_own_cluster()
sys.meta_path.insert(0, Finder())

raymigrate_standin.install(after)
