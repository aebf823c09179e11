// The ELF note by which one Divvy library recognises another and never takes it for the driver.
#pragma once

namespace divvy::interposer {

// Name of the note in the section `.note.divvy` (note.S holds the same text, size and type).
inline constexpr char kNoteName[] = "Divvy";

}  // namespace divvy::interposer
