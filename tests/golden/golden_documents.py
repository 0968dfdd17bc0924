"""200 short documents, each the only one that answers its question: 20 machines, and of each the same 10 facts.

Questions are worded otherwise than the documents, and name the machine, since 20 documents tell the same kind of fact.
"""

from dataclasses import dataclass

MACHINES = (
    "greenhouse heater", "espresso machine", "bread oven", "dough mixer", "ice cream freezer", "bottling line",
    "label printer", "wood planer", "band saw", "paint booth", "car lift", "tyre balancer", "wheel loader",
    "grain dryer", "milking robot", "water softener", "pool pump", "wind turbine", "solar inverter",
    "hospital steriliser",
)  # fmt: skip

# What the document says, and how somebody asks. The number differs from machine to machine.
FACTS = (
    ("In normal operation its temperature stays below {} degrees Celsius.", "How hot may the {} get?"),
    ("The bearings take fresh grease every {} hours.", "When does the {} have to be lubricated?"),
    ("It draws {} watts from the mains at full load.", "What is the power consumption of the {}?"),
    ("Noise at one metre has been measured at {} decibels.", "How loud is the {}?"),
    ("The warranty covers parts and labour for {} months after delivery.", "How long is the guarantee on the {}?"),
    ("Transport it upright; it weighs {} kilograms without packaging.", "What is the mass of the {}?"),
    ("Operators must have finished {} hours of training before they work alone.", "Who is allowed to run the {}?"),
    ("Clean the intake filter after {} shifts with warm water and no solvents.", "How is dirt removed from the {}?"),
    ("Spare parts are shipped within {} working days from the depot.", "How fast do replacements for the {} arrive?"),
    ("In an emergency press the red button: it stops in {} seconds.", "What do I do when the {} becomes dangerous?"),
)  # fmt: skip


@dataclass(frozen=True)
class GoldenDocument:
    """One document and the question that it alone answers."""

    document_id: str
    text: str
    question: str


def golden_documents() -> list[GoldenDocument]:
    """All of them, in a fixed order."""
    return [
        GoldenDocument(
            document_id=f"m{machine:02}-f{fact}",
            text=f"Notes on the {name}. {statement.format(10 + 7 * machine + 3 * fact)}",
            question=question.format(name),
        )
        for machine, name in enumerate(MACHINES)
        for fact, (statement, question) in enumerate(FACTS)
    ]
