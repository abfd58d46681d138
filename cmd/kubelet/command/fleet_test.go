package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"nodal/fleet"
)

func TestMisuseOfFleet(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "want status"},
		{"list", `unknown command "list"`},
		{"status", "--etcd-servers missing"},
		{"status --etcd-servers http://127.0.0.1:1 -o yaml", "want table or json"},
	} {
		var out, failed bytes.Buffer
		if code := runFleet(strings.Fields(c.args), Console{Out: &out, Err: &failed}); code != 2 || !strings.Contains(failed.String(), c.want) {
			t.Errorf("%q: got code %d, %q, want 2 and %q", c.args, code, failed.String(), c.want)
		}
	}
}

func TestAnEtcdThatIsAwayIsSaid(t *testing.T) {
	var out, failed bytes.Buffer
	args := strings.Fields("status --etcd-servers http://127.0.0.1:1 --timeout 5s")
	if code := runFleet(args, Console{Out: &out, Err: &failed}); code != 1 || !strings.Contains(failed.String(), "check --etcd-servers") {
		t.Errorf("got code %d, %q", code, failed.String())
	}
}

func TestTheCodeOfAFleetIsThatOfItsWorstNode(t *testing.T) {
	at := func(standings ...fleet.Standing) (members []fleet.Member) {
		for i, s := range standings {
			members = append(members, fleet.Member{Name: string(rune('a' + i)), Standing: s})
		}
		return members
	}
	for _, c := range []struct {
		name    string
		members []fleet.Member
		asked   []string
		want    int
	}{
		{"all well", at(fleet.Well, fleet.Well), nil, 0},
		{"one busy", at(fleet.Busy, fleet.Well), nil, 4},
		{"one failing", at(fleet.Busy, fleet.Failing), nil, 3},
		{"one silent", at(fleet.Silent), nil, 3},
		{"only the well one is asked for", at(fleet.Silent, fleet.Well), []string{"b"}, 0},
		{"one that is not there", at(fleet.Well), []string{"a", "z"}, 3},
	} {
		if got := fleetCode(named(c.members, c.asked)); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTheTableOfAFleet(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var out bytes.Buffer
	cmd := fleetCommand{Console: Console{Out: &out}}
	err := cmd.printTable([]fleet.Member{
		{Name: "b", Standing: fleet.Failing, LastWord: now.Add(-5 * time.Second), Record: fleet.Record{
			Version: "v1", Given: 12, Applied: 11, Wanted: 3, Running: 2, Ready: 1, Failing: 1, Fault: "web: CrashLoopBackOff",
		}},
		{Name: "evil\x1b[2J", Standing: fleet.Well, LastWord: now.Add(-50 * time.Hour)},
	}, now)
	const want = `NODE            STATE    LAST WORD  VERSION  GIVEN  APPLIED  WANTED  RUNNING  READY  FAILING  WHAT IS WRONG
b               failing  5s         v1       12     11       3       2        1      1        web: CrashLoopBackOff
"evil\x1b[2J"   well     2d         -        0      0        0       0        0      0        -
2 nodes: 1 failing, 1 well
`
	if err != nil || strings.Join(strings.Fields(out.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s\n%v", out.String(), want, err)
	}
}
