"""Writes a zip whose bytes depend on its files alone: python3 package/zip.py OUT.zip FOLDER FILE..."""

import sys
import zipfile

out, folder, *files = sys.argv[1:]
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
    for file in files:
        entry = zipfile.ZipInfo(f"{folder}/{file.rpartition('/')[2]}")  # 1980, as it has no other date
        entry.external_attr = 0o644 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        with open(file, "rb") as content:
            archive.writestr(entry, content.read())
