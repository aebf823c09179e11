"""A terminal screen: the escape sequences that `divvy` and a shell write, as cells with colours.

Known are: printable text, CR, LF, backspace, cursor home and position, clear to the end of line and
screen, SGR colours, alternate screen. Another sequence is an error, so that no picture is wrong in
silence.
"""
import re

SEQUENCE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])")
PLAIN = {"bold": False, "dim": False, "color": None}


class Emulator:
    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.style, self.saved = dict(PLAIN), None
        self.clear()

    def clear(self):
        self.cells = [self._blank() for _ in range(self.rows)]
        self.row = self.column = 0

    def write(self, text):
        at = 0
        while at < len(text):
            match = SEQUENCE.match(text, at)
            if match:
                self._control(match.group(1), match.group(2))
                at = match.end()
            elif text[at] == "\x1b":
                raise ValueError(f"unknown escape sequence {text[at:at + 12]!r}")
            else:
                self._put(text[at])
                at += 1

    def lines(self):
        """Each row as a list of (text, style), without blanks at its end."""
        return [self._runs(row) for row in self.cells]

    def _blank(self):
        return [(" ", PLAIN)] * self.columns

    def _put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self._down()
        elif char == "\b":
            self.column = max(0, self.column - 1)
        else:
            if self.column == self.columns:
                self.column = 0
                self._down()
            self.cells[self.row][self.column] = (char, dict(self.style))
            self.column += 1

    def _down(self):
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            self.cells = [*self.cells[1:], self._blank()]

    def _control(self, argument, letter):
        numbers = [int(word or 0) for word in argument.lstrip("?").split(";")]
        if letter == "H":
            self.row = min(max(numbers[0], 1), self.rows) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif letter == "K" and numbers[0] == 0:
            self.cells[self.row][self.column:] = self._blank()[self.column:]
        elif letter == "J" and numbers[0] == 0:
            self.cells[self.row][self.column:] = self._blank()[self.column:]
            self.cells[self.row + 1:] = [self._blank() for _ in self.cells[self.row + 1:]]
        elif letter == "m":
            self._paint(numbers)
        elif letter in "hl" and argument == "?1049":
            self._alternate(letter == "h")
        elif letter not in "hl":
            raise ValueError(f"unknown control sequence {argument}{letter}")

    def _alternate(self, begins):
        if begins:
            self.saved = self.cells, self.row, self.column
            self.clear()
        elif self.saved:
            self.cells, self.row, self.column = self.saved

    def _paint(self, numbers):
        for number in numbers:
            if number == 0:
                self.style = dict(PLAIN)
            elif number in (1, 2, 22):
                self.style |= {"bold": number == 1, "dim": number == 2}
            elif number == 39 or 30 <= number <= 37 or 90 <= number <= 97:
                self.style["color"] = None if number == 39 else number
            else:
                raise ValueError(f"unknown SGR attribute {number}")

    @staticmethod
    def _runs(row):
        runs = []
        for char, style in row:
            if runs and runs[-1][1] == style:
                runs[-1] = (runs[-1][0] + char, style)
            else:
                runs.append((char, style))
        while runs and not runs[-1][0].strip():
            runs.pop()
        return runs
