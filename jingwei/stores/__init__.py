"""Content stores: long texts kept whole, and read in pages by reference (rules T3 to T5).

`in_memory` lives as long as its process, `sqlite` in a file; `read_tool` lets a model read what the host
grants. `rules` is what both stores decide by. Each is imported by its name; the records of stores stand in
`jingwei.ports`, and in the face.
"""
