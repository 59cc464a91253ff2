"""The explorer: a page on which the cut of a ranked list can be dragged, and its report.

`exploration` holds the lists and the methods, `views` make plain data of them, `routes` serve the
views and `report` writes them into one file. The page looks numbers up; it computes none.
"""
