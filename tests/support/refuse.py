#!/usr/bin/env python3
"""refuse.py CALL[,CALL…] PROGRAM [ARGUMENT…]: runs the program as on a machine whose kernel refuses these system calls with EPERM.

A seccomp filter does this, like those that container engines and systemd units set. It also holds for every program that the program
starts.
"""
import ctypes
import os
import platform
import struct
import sys

NUMBER = {"x86_64": {"unshare": 272, "pivot_root": 155, "mount": 165, "fsopen": 430, "setns": 308, "clone3": 435}, "aarch64": {"unshare": 97, "pivot_root": 41, "mount": 40, "fsopen": 430, "setns": 268, "clone3": 435}}[platform.machine()]
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, EPERM = 0x7FFF0000, 0x00050001
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse(names):
    steps = [(LOAD_NUMBER, 0, 0, 0)]
    for name in names:
        steps += [(JUMP_IF_EQUAL, 0, 1, NUMBER[name]), (RETURN, 0, 0, EPERM)]
    steps.append((RETURN, 0, 0, ALLOW))
    code = b"".join(struct.pack("<HBBI", *step) for step in steps)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    program = Program(len(steps), code)
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    refuse(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
