// The ELF note by which a Divvy library recognises another and never takes it for the driver.
#pragma once

namespace divvy::interposer {

// Name of the note in section `.note.divvy` (support/elf_note.S has the same text, size and type).
inline constexpr char kNoteName[] = "Divvy";

}  // namespace divvy::interposer
