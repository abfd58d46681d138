// Command leaks checks that a test run leaves nothing on the machine.
//
//	leaks save FILE    record the state before the run
//	leaks check FILE   fail and list what the run has left
//	leaks list FILE    list what there is more, now
//
// Set NODAL_TEST_RUN to the same value for the run and the check: it marks the run's processes.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"nodal/test/rig"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "leaks:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: leaks save|check|list FILE")
	}
	switch args[0] {
	case "save":
		return save(args[1])
	case "check":
		return check(args[1])
	case "list":
		return list(args[1])
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func save(path string) error {
	data, err := json.Marshal(rig.Snapshot())
	if err != nil {
		return fmt.Errorf("encode the snapshot: %w", err)
	}
	return os.WriteFile(path, data, 0o600)
}

func check(path string) error {
	before, err := read(path)
	if err != nil {
		return err
	}
	if left := rig.Leaks(before); len(left) > 0 {
		return fmt.Errorf("the tests left behind:\n  %s", strings.Join(left, "\n  "))
	}
	return nil
}

func list(path string) error {
	before, err := read(path)
	if err != nil {
		return err
	}
	for _, item := range rig.Left(before) {
		fmt.Println(item)
	}
	return nil
}

func read(path string) (before rig.Machine, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return before, fmt.Errorf("read the snapshot: %w", err)
	}
	if err := json.Unmarshal(data, &before); err != nil {
		return before, fmt.Errorf("decode the snapshot: %w", err)
	}
	return before, nil
}
