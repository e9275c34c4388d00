package peers

import (
	"os"
	"testing"

	"github.com/stele-go/stele/crashtest"
)

func TestMain(m *testing.M) {
	crashtest.ServeDisk() // the crash states are recorded below a mount
	os.Exit(m.Run())
}
