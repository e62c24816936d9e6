"""Writes the wheel of examples/pytorch: python3 package/wheel.py FOLDER. The same files give the same bytes."""
import base64
import hashlib
import pathlib
import sys
import tomllib
import zipfile

SOURCE = pathlib.Path(__file__).parents[1] / "examples/pytorch"
project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
name = f"{project['name'].replace('-', '_')}-{project['version']}"
files = {
    "attention_check.py": (SOURCE / "attention_check.py").read_text(),
    f"{name}.dist-info/METADATA": "".join([
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
        f"Summary: {project['description']}\nLicense: {project['license']['text']}\n",
        f"Requires-Python: {project['requires-python']}\n",
        *[f"Requires-Dist: {wanted}\n" for wanted in project["dependencies"]]]),
    f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: heed\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{name}.dist-info/entry_points.txt": "[console_scripts]\n" + "".join(
        f"{command} = {function}\n" for command, function in project["scripts"].items()),
}
record = f"{name}.dist-info/RECORD"
lines = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},"
         f"{len(text.encode())}\n" for path, text in files.items()]
files[record] = "".join(lines) + f"{record},,\n"
with zipfile.ZipFile(pathlib.Path(sys.argv[1]) / f"{name}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
    for path, text in files.items():
        wheel.writestr(zipfile.ZipInfo(path), text, zipfile.ZIP_DEFLATED)
