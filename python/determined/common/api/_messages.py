"""Classes for the messages and enums of the contract, made from its table when they are asked for."""

import enum
import inspect
import math
import os
import typing
from typing import Any, Callable, Dict, List, Optional, Type

from determined.common.api._contract import Field, contract


class Unset:
    """The type of a member that is not given, which differs from one that is None."""


_unset = Unset()


def _shared_prefix(values: List[str]) -> str:
    """What all values begin with, if that ends with an underscore."""
    shared = os.path.commonprefix(values)  # noqa: RUF071 (it is for any text)
    return shared if shared.endswith("_") else ""


class DetEnum(enum.Enum):
    """An enum of the contract. Its text is the value without the prefix that all values share."""

    def __str__(self) -> str:
        return str(self.value)[len(self.prefix()) :]

    @classmethod
    def prefix(cls) -> str:
        return _shared_prefix([member.value for member in cls])


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, (str, int, float, bool, DetEnum)) else "..."


class Printable:
    """Gives a message a text that names its members; nested messages are shortened to dots."""

    def __str__(self) -> str:
        members = []
        for name, value in vars(self).items():
            if isinstance(value, list):
                members.append(f"{name}=[{', '.join(_shown(item) for item in value)}]")
            elif value is not None:
                members.append(f"{name}={_shown(value)}")
        return f"{type(self).__name__}({', '.join(members)})"


def dump_float(value: Optional[float]) -> Any:
    """A number as the contract's JSON has it: text where it is not finite."""
    if value is None:
        return None
    if math.isnan(value):
        return "Nan"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


class Message(Printable):
    """What all messages share.

    A member that was not given is None when it is read, and left out when the message is sent.
    """

    _fields: typing.ClassVar[List[Field]] = []

    def __init__(self, **members: Any) -> None:
        given = self.__signature__.bind(**members).arguments  # type: ignore[attr-defined]
        for name, value in given.items():
            if not isinstance(value, Unset):
                setattr(self, name, value)

    @classmethod
    def from_json(cls, obj: Any) -> "Message":
        """A message from decoded JSON.

        Raises
        ------
        KeyError
            A member that every message of this kind has is missing.
        """
        members = {}
        for field in cls._fields:
            if field.required or field.name in obj:
                members[field.name] = _each(field, _reader(field), obj[field.name])
        return cls(**members)

    def to_json(self, omit_unset: bool = False) -> Dict[str, Any]:
        """The message as JSON can hold it; ``omit_unset`` leaves out the members that were not given."""
        out = {}
        for field in self._fields:
            if field.required or not omit_unset or field.name in vars(self):
                out[field.name] = _each(field, _writer(field, omit_unset), getattr(self, field.name))
        return out


def _each(field: Field, convert: Optional[Callable[[Any], Any]], value: Any) -> Any:
    if value is None or convert is None:
        return value
    if field.mapped:
        return {key: convert(item) for key, item in value.items()}
    return [convert(item) for item in value] if field.repeated else convert(value)


def _reader(field: Field) -> Optional[Callable[[Any], Any]]:
    if field.refers_to:
        kind = type_of(field.refers_to)
        reader: Callable[[Any], Any] = kind if field.is_enum else kind.from_json
        return reader
    return float if field.is_float else None


def _writer(field: Field, omit_unset: bool) -> Optional[Callable[[Any], Any]]:
    if field.is_enum:
        return lambda value: value.value
    if field.refers_to:
        return lambda value: value.to_json(omit_unset)
    return dump_float if field.is_float else None


def _signature(fields: List[Field]) -> inspect.Signature:
    parameters = []
    for field in fields:
        text = field.annotation(contract().names)
        if field.required:
            parameters.append(inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, annotation=text))
        else:
            parameters.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=_unset,
                    annotation=f"typing.Union[{text}, None, Unset]",
                )
            )
    return inspect.Signature(parameters)


MODULE = "determined.common.api.bindings"
_types: Dict[str, Type[Any]] = {}


def _new_message(full_name: str) -> Type[Message]:
    fields = contract().fields(full_name)
    members: Dict[str, Any] = {field.name: None for field in fields if not field.required}
    members.update(
        _fields=fields,
        __signature__=_signature(fields),
        __module__=MODULE,
        __doc__=f"The message ``{full_name}`` of the contract.",
    )
    return type(contract().names[full_name], (Message,), members)


def _new_enum(full_name: str) -> Type[DetEnum]:
    values = contract().enum_values(full_name)
    skip = len(_shared_prefix(values))
    members = {value[skip:]: value for value in values}
    make: Any = DetEnum  # a call with members makes a new enum
    made: Type[DetEnum] = make(contract().names[full_name], members, module=MODULE)
    made.__doc__ = f"The enum ``{full_name}`` of the contract."
    return made


def type_of(full_name: str) -> Type[Any]:
    """The class of a message or enum."""
    if full_name not in _types:
        _types[full_name] = _new_enum(full_name) if contract().is_enum(full_name) else _new_message(full_name)
    return _types[full_name]
