package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/units"
)

// newFlags returns the flag set of a command; its help is usage (which ends
// with examples), then the flags.
func newFlags(name, usage string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.SetOutput(io.Discard) // parse reports errors once, in one place
	f.Usage = func() {}
	f.Init(name, pflag.ContinueOnError)
	f.SetInterspersed(true)
	f.BoolP("help", "h", false, "print this help")
	f.Lookup("help").Hidden = true
	f.SetAnnotation("help", "usage", []string{usage})
	return f
}

// parse parses args. If done is set, the command ends with code.
func parse(f *pflag.FlagSet, args []string, usageCode int, stdout, stderr io.Writer) (code int, done bool) {
	err := f.Parse(args)
	if help, _ := f.GetBool("help"); help || errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(stdout, f.Lookup("help").Annotations["usage"][0])
		if u := f.FlagUsagesWrapped(100); u != "" {
			fmt.Fprintf(stdout, "\nFlags:\n%s", u)
		}
		return exitOK, true
	}
	if err != nil {
		return usageError(stderr, f.Name(), usageCode, flagError(f, err)), true
	}
	return 0, false
}

func usageError(stderr io.Writer, name string, code int, err error) int {
	fmt.Fprintf(stderr, "%s: %v\n'%s --help' shows its usage\n", name, err, name)
	return code
}

// flagError returns an error of package pflag in the form of package setting: the
// flag, the value, the allowed values.
func flagError(f *pflag.FlagSet, err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		f.VisitAll(func(fl *pflag.Flag) {
			if !fl.Hidden || fl.Name == "help" {
				names = append(names, "--"+fl.Name)
			}
		})
		return fmt.Errorf("%w%s", err, didYouMean("--"+e.GetSpecifiedName(), names))
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		want, ok := map[string]string{
			"int": "a whole number", "uint64": "a whole number from 0 to 18446744073709551615", "float64": "a number",
			"duration": "a time such as 250ms or 2m30s", "bool": "true or false",
		}[e.GetFlag().Value.Type()]
		if inner, wrong := errors.AsType[*setting.Error](e.Unwrap()); wrong {
			want = inner.Want
		} else if !ok {
			want = e.Unwrap().Error()
		}
		return setting.Wrong("--"+e.GetFlag().Name, e.GetValue(), "%s", want)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("--%s: no value; want one", e.GetFlag().Name)
	}
	return err
}

// asFlag replaces the name of a setting in an error by that of its flag, from
// flags.
func asFlag(err error, flags map[string]string) error {
	e, ok := errors.AsType[*setting.Error](err)
	if !ok || flags[e.Name] == "" {
		return err
	}
	named := *e
	named.Name = flags[e.Name]
	return &named
}

// oneOf returns an error unless the value of the flag is one of those allowed.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	last := len(allowed) - 1
	return setting.Wrong(flag, value, "%s or %s", strings.Join(allowed[:last], ", "), allowed[last])
}

// sizeFlag parses the value of a flag for a size.
func sizeFlag(flag, value string) (int64, error) {
	n, err := units.Parse(value)
	if err != nil {
		return 0, setting.Wrong(flag, value, "a size such as 4096, 512M or 2GiB")
	}
	return n, nil
}

// argCount returns an error unless f has lo to hi arguments, which name names.
func argCount(f *pflag.FlagSet, name string, lo, hi int) error {
	n := f.NArg()
	if lo <= n && n <= hi {
		return nil
	}
	want := strconv.Itoa(lo)
	switch {
	case hi == math.MaxInt:
		want += " or more"
	case hi > lo:
		want += " or " + strconv.Itoa(hi)
	}
	got := fmt.Sprintf("%d arguments", n)
	if n == 1 {
		got = "1 argument"
	}
	return setting.Wrong(name, setting.Text(got), "%s", want)
}
