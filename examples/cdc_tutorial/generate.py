"""Messages about customers as a database's log would tell them, made up by Faker, in files of JSON lines.

The shares are those of the Databricks tutorial, and so is the mess: ids that are missing, operations that are missing,
dates as text with the month first. Other than there some ids come again, so that there is something to update. Seed,
month and delivery decide what the messages are: the same ones give the same files.
"""

from __future__ import annotations

import argparse
import calendar
import datetime as dt
import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

from faker import Faker

# Of 100 messages about 55 append, 33 update, 11 delete, and one does not say what it does.
OPERATIONS = {"APPEND": 0.5, "DELETE": 0.1, "UPDATE": 0.3, None: 0.01}
WITHOUT_ID = 0.02
DATE_FORMAT = "%m-%d-%Y %H:%M:%S"


def messages(
    count: int, seed: int = 0, *, month: dt.date, delivery: int = 1, repeats: float = 0.3
) -> Iterator[dict[str, str | None]]:
    """Yield the messages of a delivery; `repeats` is the share that is about an id of any message so far."""
    rng = random.Random(f"{seed} {delivery}")
    people = made_up(min(count, 1000), rng.getrandbits(64))
    seconds = calendar.monthrange(month.year, month.month)[1] * 86400
    start = dt.datetime(month.year, month.month, 1, tzinfo=dt.timezone.utc)
    taken = set()
    for number in range(count):
        about = (delivery, number)
        if rng.random() < repeats:
            earlier = rng.randint(1, delivery)
            about = (earlier, rng.randrange(count if earlier < delivery else number + 1))
        # Two changes of a customer in one second would have no order: each delivery has seconds of its own.
        moment = None
        while moment is None or (about, moment) in taken:
            moment = 10 * rng.randrange(seconds // 10) + delivery % 10
        taken.add((about, moment))
        yield {
            "id": None if rng.random() < WITHOUT_ID else customer_id(seed, *about),
            **{column: rng.choice(values) for column, values in people.items()},
            "operation": rng.choices(list(OPERATIONS), list(OPERATIONS.values()))[0],
            "operation_date": (start + dt.timedelta(seconds=moment)).strftime(DATE_FORMAT),
        }


def made_up(size: int, seed: int) -> dict[str, list[str]]:
    """Return values to draw from: Faker itself would take a minute for 100,000 messages."""
    fake = Faker()
    fake.seed_instance(seed)
    return {
        "firstname": [fake.first_name() for _ in range(size)],
        "lastname": [fake.last_name() for _ in range(size)],
        "email": [fake.ascii_company_email() for _ in range(size)],
        "address": [fake.address() for _ in range(size)],
    }


def customer_id(seed: int, delivery: int, number: int) -> str:
    """Return the id that a message introduces, the same in every delivery."""
    return str(uuid.UUID(int=random.Random(f"{seed} {delivery} {number}").getrandbits(128), version=4))


def write(folder: Path, made: Iterator[dict[str, str | None]], *, delivery: int, files: int) -> list[Path]:
    """Write messages into files, dealt out in turn; a file gets its name when it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(message) + "\n" for message in made]
    paths = []
    for number in range(min(files, len(lines))):
        path = folder / f"customers-{delivery:03}-{number:04}.json"
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text("".join(lines[number::files]), encoding="utf-8")
        unfinished.replace(path)
        paths.append(path)
    return paths


def main() -> None:
    """Take the options and write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="messages of a delivery (default: 100000)")
    parser.add_argument(
        "--delivery", type=int, default=1, help="1 for the first, 2 for what came next, and so on"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed, other messages")
    parser.add_argument("--month", help="the month of the dates, such as 2026-12 (default: this month)")
    parser.add_argument("--files", type=int, default=100, help="files of a delivery (default: 100)")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "landing")
    options = parser.parse_args()
    today = dt.datetime.now().astimezone()
    month = dt.date.fromisoformat(f"{options.month or today.strftime('%Y-%m')}-01")
    made = messages(options.count, options.seed, month=month, delivery=options.delivery)
    paths = write(options.folder, made, delivery=options.delivery, files=options.files)
    print(f"{options.count} messages in {len(paths)} files in {options.folder}")


if __name__ == "__main__":
    main()
