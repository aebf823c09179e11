// The folder of seeds that a replay test reads. The rest of the test is compiled once for all
// folders.
extern const char* const kCorpusFolder;
const char* const kCorpusFolder = DIVVY_CORPUS;
