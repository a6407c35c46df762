"""What stands in for the master where a Trial class trains off the cluster: hyperparameters of one trial, a length."""

import json
from typing import Any, Dict, List, Tuple

import determined as det
from determined import errors


def read_config(path: str) -> det.ExperimentConfig:
    """The experiment configuration in a file of JSON, as ``det experiment create --local`` writes it.

    Raises
    ------
    errors.InvalidExperimentException
        If it is no object.
    """
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    if not isinstance(config, dict):
        raise errors.InvalidExperimentException("the experiment configuration must be a map of keys and values")
    return det.ExperimentConfig(config)


_KINDS = ("const", "categorical", "int", "double", "log")


def _chosen(name: str, what: Dict[str, Any]) -> Any:
    kind = what["type"]
    if kind not in _KINDS:
        raise errors.InvalidExperimentException(f"hyperparameters.{name}: type {kind!r} is none of {', '.join(_KINDS)}")
    try:
        if kind == "const":
            return what["val"]
        if kind == "categorical":
            return what["vals"][0]
        middle = (what["minval"] + what["maxval"]) / 2
        if kind == "int":
            return int(middle)
        return float(middle if kind == "double" else what.get("base", 10) ** middle)
    except KeyError as e:
        raise errors.InvalidExperimentException(f"hyperparameters.{name}: type {kind} needs {e}") from e
    except (IndexError, TypeError) as e:
        raise errors.InvalidExperimentException(f"hyperparameters.{name}: {what}: {e}") from e


def choose_hparams(space: Dict[str, Any], prefix: str = "") -> Tuple[Dict[str, Any], List[str]]:
    """One value for each hyperparameter, as there is no searcher: of a range the middle, of a list the first.

    Parameters
    ----------
    space : dict
        The section ``hyperparameters``.
    prefix : str
        Of the names: the map that ``space`` lies in, with a dot.

    Returns
    -------
    values : dict
    chosen : list of str
        ``name=value`` of those that a searcher would have chosen.

    >>> choose_hparams({"lr": {"type": "log", "base": 10, "minval": -3, "maxval": -1}, "a": {"b": 3}})
    ({'lr': 0.01, 'a': {'b': 3}}, ['lr=0.01'])
    """
    values: Dict[str, Any] = {}
    chosen: List[str] = []
    for name, what in (space or {}).items():
        if not isinstance(what, dict):
            values[name] = what
        elif "type" in what:
            values[name] = _chosen(prefix + name, what)
            if what["type"] != "const":
                chosen.append(f"{prefix}{name}={values[name]!r}")
        else:
            values[name], below = choose_hparams(what, f"{prefix}{name}.")
            chosen.extend(below)
    return values, chosen


def max_length(config: det.ExperimentConfig) -> Dict[str, Any]:
    """How long to train: ``{"batches": n}`` or so.

    Raises
    ------
    errors.InvalidExperimentException
        If the configuration does not say.
    """
    length = (config.get("searcher") or {}).get("max_length")
    if not length:
        raise errors.InvalidExperimentException(
            "searcher.max_length is missing: how long to train, such as --config searcher.max_length.batches=100"
        )
    return length if isinstance(length, dict) else {"batches": length}
