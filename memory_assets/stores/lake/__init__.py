"""The lake: Parquet files by table, the truth from which all else can be made again.

Belongs here: schemas, files, atomic writes, reading rows. Does not: what a row means.
"""
