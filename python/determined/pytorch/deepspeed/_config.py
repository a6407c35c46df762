"""DeepSpeed's configuration, with what a trial changes in it."""

import json
from typing import Any, Dict, List, Tuple, Union


def _refuse_duplicates(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"DeepSpeed's configuration has {', '.join(twice)} twice")
    return dict(pairs)


def _merged(base: Dict[str, Any], changes: Dict[str, Any]) -> Dict[str, Any]:
    merged = dict(base)
    for name, value in changes.items():
        both = isinstance(merged.get(name), dict) and isinstance(value, dict)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


def overwrite_deepspeed_config(
    base_ds_config: Union[str, Dict[str, Any]], source_ds_dict: Dict[str, Any]
) -> Dict[str, Any]:
    """Put values, such as hyperparameters, into a configuration of DeepSpeed.

    Parameters
    ----------
    base_ds_config : str or dict
        The configuration, or the path of its JSON file. A dictionary is not changed.
    source_ds_dict : dict
        What takes precedence; dictionaries within are merged, anything else replaces what was there.

    Returns
    -------
    dict

    Raises
    ------
    TypeError
        If ``base_ds_config`` is something else.
    ValueError
        If the file is not JSON, or has a name twice.

    >>> overwrite_deepspeed_config({"optimizer": {"type": "Adam", "params": {"lr": 1}}}, {"optimizer": {"type": "SGD"}})
    {'optimizer': {'type': 'SGD', 'params': {'lr': 1}}}
    """
    if isinstance(base_ds_config, str):
        with open(base_ds_config, encoding="utf-8") as f:
            base_ds_config = json.load(f, object_pairs_hook=_refuse_duplicates)
    if not isinstance(base_ds_config, dict):
        raise TypeError(f"base_ds_config must be a dictionary or a path, not a {type(base_ds_config).__name__}")
    return _merged(base_ds_config, source_ds_dict)
