package command

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// licences is a text that `make licenses` writes, packed.
//
//go:embed licenses/licenses.txt.gz
var licences []byte

const licensesUsage = `Usage:
  kubelet licenses   print the names and the licences of all that is in this program
`

func runLicenses(args []string, c Console) int {
	flags := pflag.NewFlagSet("licenses", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, licensesUsage) }
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err = errors.Join(err, noMore(flags.Args())); err != nil {
		return misused(flags, c, err)
	}
	text, err := gzip.NewReader(bytes.NewReader(licences))
	if err == nil {
		_, err = io.Copy(c.Out, text)
	}
	if err != nil {
		fmt.Fprintln(c.Err, "kubelet licenses:", err)
		return 1
	}
	return 0
}
