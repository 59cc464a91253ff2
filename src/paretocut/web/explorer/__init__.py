"""The explorer: a page on which the cut of a ranked list can be dragged, and its report.

`session` holds the lists and who decides, `views` make plain data of them, `routes` serve these
and `report` writes them into one file. Every number comes from the engine; the page looks it up.
"""
