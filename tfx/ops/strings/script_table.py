"""The script that each character of Unicode belongs to, by the numbers of ICU's ``UScriptCode``.

Runs of characters of one script: 1,587 of them, for all 1,114,112 code points. The distances
between their first characters are written in bytes of 7 bits, the last one of each below 128; the
scripts follow, a byte each; all of it is compressed. It is Unicode's table of scripts as TensorFlow
2.21's ``tf.strings.unicode_script`` tells it.
"""

from __future__ import annotations

import base64
import functools
import zlib
from typing import Any

import numpy as np

_TABLE = (
    "eNqllGtsHUcVx/ecmdnZnd279+Hre32v7Xs3rn39ftvxI0ntJNRNlMhJG4iTpqoi0fZAG/pKivpQWyt9pBXpE9EWC9JA"
    "Q2lpRVugCYFCAwL1A0LiA1QgoX7gKxLqBwR8QeLMXtuJ06ZB6v3dndmdmT3n7Dn/GWdz2S0PQhpUEarwK9GpFObvkCBQ"
    "AvAfQPCVh5ko8yjgawA1HEEBE16zdAMFLkR2DcRggjIcgrYINqIYGok2oBjANLQgQDDeCLkgDa3XyDSWJXiIWADNliX6"
    "fC89kAgKS2zXlfU5tPC7ip+FAM2R6KwR4HM49XmFhu8FQlpiqDXfr9i1c9au0CKxmzMILhuRvBgABRsUoVR2BO0HNKoU"
    "v12EjPC4lxpBsFuj/fqwsebqExwzTwCm7Mwo2HAzWOY+J5o4NEDNy1x24rkGRTgtoaXD+lTQxG0RFbcuGpTxNmiXndDO"
    "edcSO05CzS7CXpCLuJ19sCNuu/lat/qUhilut2Isyu5edHFRtYodItAp0EEj+vnQBoXhDWhc49rc+WDc/bpXzZkqhDLk"
    "moYVVEGfLLuBwLgFcQZaMeDVEWZndsp+MTvmyUmRFmLI170oPE9AyubetXlWNQXDSnKy5mAa1CIWOIgaXx7Uf1Uc5++J"
    "0IUGtJUKcQECwIAHUyLOrEvX2IwLzZDtFvIFVQoaT+pF/KfEGL48CIMQH1G6nodJjREUfQ1riff0l2F/+AGUuXzssORL"
    "9KSEvbbYcB0K1Qs3QCZuDzNVmK1eMwj7XoVzo7P/fRnEk76Y8IfewPzBfV7bzWIc/Z6gXxh30pvzQjceAGgPoFXMAxiJ"
    "VZjwo6ROW5tUkbPJJNH08mdJlLsHOMmnFsKiHH5kyz8Qb6npUKky2KCscs1d2b8jZmZxfVeEGZvfK6ABJAd9jGch5i0X"
    "GOjHqkhMsyDZuFEYQpnXsaQxartfCa6Iv4tzB4P9cJSDG05Ds2z3RbPqVRUOWEY9u4cqHEq7bJdd3lgAz8AZ9AvGe5Fl"
    "BtDHYmdrBfDjqucPsWWlWgSUFczGTTKPA5JHrOZbUUjWu47juFOG/nqhC+g1KC+nZah3b58YTY1qt8szr3BmeriION/l"
    "9extyRf9eVlJwxauckkbdxxyXqd/EPJBDvo2J6rl2gfuBmVceeH2ZG3aktndp3hXCfU1uB5UZRt7gPVYa7sqMG6qYUqb"
    "9c2YlplzsPHGPSHwxmStIVT4ZAh9M+fhAAbN27w9rVPHeIf2Q2RaRcw+ou3WS5+wxfA947rcd/DlanMaS2cA0iMpWNI3"
    "3w4q+A282/imB/771ffl2a1npa5aARysoGvmjOFwG1XDW+rATTvklM7OWosBRv8Z9BbdD0SP/++r4AQOi6z0jotHcreq"
    "lPA1y0b+tfYvMJ14pch6qCtyQ3FuCfLhgl86Bl+Aq+3JZs89CDlFGjazpDzuWzhdnBrWwh8RTyGOHFdpBek/GA1ZTPL2"
    "J+gXrEuJH+G0gkXzW8BM907JA8+6n9u56ddsoNkKjP+mfni79c6e4vXxlZ99kuxUJgsMZJVg59kxfAr75I1hmo+bNHSY"
    "H8Jkmc+7PunzlnSX4M/aS4mUOBLu12E+lJOc3S6vwoK4F65lcYcR8rmqtF/S2hcp3f11gIkO85j34e+x7Z04+BDwaH/0"
    "9vRLTSfk34Lf1U7/pRcqBxfhI3BKF6EciJyIli/bWnTkgUcioSEBnYR6b3efg23EYAct0MKD9CB9nmkjpGSNAeMYSZcm"
    "cxnSn0L1U7jiMrR/Mo10KcprWHcJauTUqOkT6TyP00ktISU4YS6gy+MyXa0UOzH1ML0O9VF/QjGh2WGoThcNrTBGY7Sh"
    "TnGCJm6hFYCuZO6coZlrifmKZ2O5k8A5D5UirxQx3AJBaVkSl8S+4pT4z2+Swx5YRivqooSBpJ2kSSpp0vUEbLR8/Hs9"
    "h7IJ/ELWAjluKc8R5p2CUyBFOWLRUoG7nB2xi6ibefiL5B21YZQ4jtI0W7iObmfMLmfXbXRbjubJmaf5FtpSp+Uheujw"
    "Ba75xYgjdg/TYfZhsXGUVndAghV3XeMcEYFX/0L76CSuk4hytEJ9engNyRinLUkd3UpfspYqVEnRfhqn8U20ifzRERqh"
    "15nH6SVmT8LgeY7QkWeepqfpu5YDdOAQHaK9TxIzRWt59Cm6l7mb7n6AHriP7rufLPtop+U0nebIzyX8lM7QL+gsbbbc"
    "Q/fQi8xXmZP0Agv828ypVZ5lnlgDPHHRwA+YE8wrzMtMM32T+U7Cj+g5eu6XtJafJ7xNb9H36NVlXkt4cw0/voCf0MN2"
    "V99Eda5mvkVH6RsJjzE7VnmHrk9Yet55j+u6REvvcVPIs7YK9DwdW2FZs6u7IVou4v/NHWSZXOVny7zLHGe+n7Aim8/K"
    "Rc7zDn0Wsmtwku38P0EERvA="
)


@functools.cache
def runs() -> tuple[Any, Any]:
    """The first character of each run, int64 ``[n]``, and its script, int32 ``[n]``."""
    data = zlib.decompress(base64.b64decode(_TABLE))
    starts: list[int] = []
    at = start = distance = shift = 0
    while len(starts) < len(data) - at:
        distance |= (data[at] & 127) << shift
        shift += 7
        if data[at] < 128:
            start += distance
            starts.append(start)
            distance = shift = 0
        at += 1
    return np.array(starts, np.int64), np.frombuffer(data, np.uint8, offset=at).astype(np.int32)
