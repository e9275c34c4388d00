package power

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	ServeDisk()
	os.Exit(m.Run())
}
