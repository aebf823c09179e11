// Texts: loads and stores of 8 and 16 bits.

extern "C" __global__ void upperCase(const char* in, char* out, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length) return;
  const char c = in[i];
  out[i] = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// A text that ends with a zero: its length, its hash, whether it is a palindrome.
extern "C" __global__ void describeTexts(const char* texts, int room, int* lengths,
                                         unsigned* hashes, bool* mirrored) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const char* const text = texts + i * room;
  int length = 0;
  unsigned hash = 2166136261u;
  while (length < room && text[length] != 0) {
    hash = (hash ^ static_cast<unsigned char>(text[length])) * 16777619u;
    ++length;
  }
  bool same = true;
  for (int k = 0; k < length / 2; ++k) same = same && text[k] == text[length - 1 - k];
  lengths[i] = length;
  hashes[i] = hash;
  mirrored[i] = same;
}

extern "C" __global__ void findWord(const char* text, int length, const char* word, int word_length,
                                    int* first, int* found) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + word_length > length) return;
  for (int k = 0; k < word_length; ++k) {
    if (text[i + k] != word[k]) return;
  }
  atomicMin(first, i);
  atomicAdd(found, 1);
}

// Decimal digits of numbers, least significant first, then turned round.
extern "C" __global__ void printNumbers(const int* in, char* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  char digits[12];
  unsigned rest = in[i] < 0 ? 0u - static_cast<unsigned>(in[i]) : static_cast<unsigned>(in[i]);
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (in[i] < 0) digits[count++] = '-';
  char* const text = out + 12 * i;
  for (int k = 0; k < 12; ++k) text[k] = k < count ? digits[count - 1 - k] : ' ';
}

extern "C" __global__ void swapHalves(unsigned short* words, const short* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned short w = words[i];
  words[i] = static_cast<unsigned short>(w << 8 | w >> 8);
  out[i] = in[i] * 3 - static_cast<signed char>(in[i]) + (in[i] < 0 ? 70000 : -70000);
}

__constant__ char bytes_alphabet[65] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Three bytes to four letters.
extern "C" __global__ void base64(const unsigned char* in, char4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned word = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
  out[i] = make_char4(bytes_alphabet[word >> 18], bytes_alphabet[word >> 12 & 63],
                      bytes_alphabet[word >> 6 & 63], bytes_alphabet[word & 63]);
}

// Edit distance of two short words, by rows in local memory.
extern "C" __global__ void editDistance(const char* words, int length, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const char* const a = words + i * length;
  const char* const b = words + (i + 1) % (gridDim.x * blockDim.x) * length;
  unsigned char row[17];
  for (int k = 0; k <= length; ++k) row[k] = static_cast<unsigned char>(k);
  for (int j = 1; j <= length; ++j) {
    int diagonal = row[0];
    row[0] = static_cast<unsigned char>(j);
    for (int k = 1; k <= length; ++k) {
      const int kept = row[k];
      const int change = diagonal + (a[k - 1] != b[j - 1]);
      row[k] = static_cast<unsigned char>(min(change, min(row[k - 1], row[k]) + 1));
      diagonal = kept;
    }
  }
  out[i] = row[length];
}
