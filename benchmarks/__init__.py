"""What jingwei costs, measured; `python -m benchmarks` runs every benchmark in this folder."""
