package modules

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

func hashGoMod(data []byte) (string, error) {
	return dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	})
}

// Lines returns the lines of a go.sum for version of the module at path.
func (s Sums) Lines(path, version string) []string {
	return []string{path + " " + version + " " + s.Zip + "\n", path + " " + version + "/go.mod " + s.GoMod + "\n"}
}

// ReadSum returns the lines of a go.sum about modules other than list's. A
// missing file has no line.
func ReadSum(name string, list []Module) ([]string, error) {
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		path, _, _ := strings.Cut(line, " ")
		if !slices.ContainsFunc(list, func(m Module) bool { return m.Path == path }) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// WriteSum writes a go.sum, sorted as cmd/go sorts it.
func WriteSum(name string, lines []string) error {
	if len(lines) == 0 {
		err := os.Remove(name)
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	slices.Sort(lines)
	return os.WriteFile(name, []byte(strings.Join(slices.Compact(lines), "")), 0o666)
}
