"""Training whose blocks of examples live on the workers of Dask.

``worker`` is what runs there, ``cluster`` is the one door to Dask, ``crew`` shares the blocks out
and sends those of a lost worker again, ``place`` says where a configuration wants to compute.
"""
