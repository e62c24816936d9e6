# shellcheck shell=sh disable=SC2154
# For tests of pages: sets `python` to one that has selenium, and installs axe-core in $build/axe if it can.

# Debian's selenium is installed for /usr/bin/python3, which may not come first in PATH.
python=python3
python3 -c "import selenium" 2> /dev/null || python=/usr/bin/python3

[ -d "$build/axe/axe_core_python" ] ||
    $python -m pip install -q --target "$build/axe" axe-core-python || true
export PYTHONPATH="$build/axe"
