package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"nodal/agent/config"
)

const uiUsage = `Usage:
  kubelet ui [flags]   print a sign-in link for the node's dashboard

The link signs one browser in with your rights. It works once, within ten minutes.

Flags:
`

// runUI prints links to the dashboard. It is a client of the node API and runs beside the agent.
func runUI(args []string, c Console) int {
	flags := pflag.NewFlagSet("ui", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, uiUsage, flags.FlagUsages()) }
	socket := flags.String("socket", config.DefaultSocket, "unix socket `path` of the node API")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		return misused(flags, c, err)
	}
	if err := noMore(flags.Args()); err != nil {
		return misused(flags, c, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	links, err := askLinks(ctx, *socket)
	if err != nil {
		fmt.Fprintln(c.Err, "kubelet ui:", err)
		return 1
	}
	for _, link := range links {
		fmt.Fprintln(c.Out, link)
	}
	return 0
}

// unanswered says why the socket does not answer, and what to do.
func unanswered(socket string, err error) error {
	var dialed *net.OpError
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("socket %s: permission denied; run it with sudo", socket)
	case errors.As(err, &dialed) && dialed.Op == "dial":
		return fmt.Errorf("no node answers at %s: %w; start it, or name its socket with --socket", socket, dialed.Err)
	}
	return fmt.Errorf("ask the node for a link: %w", err)
}

// askLinks asks the agent for links. All of them hold the same code.
func askLinks(ctx context.Context, socket string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node/ui/code", nil)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial}}
	response, err := client.Do(request)
	if err != nil {
		return nil, unanswered(socket, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read the node's answer: %w", err)
	}
	var answer struct {
		Links   []string
		Message string // of an error
	}
	if json.Unmarshal(body, &answer) != nil {
		answer.Message = string(bytes.TrimSpace(body))
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the node for a link: %s", answer.Message)
	}
	return answer.Links, nil
}
