package e2e

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/kms"
)

// shownKey is the key of Secrets as the API shows it.
type shownKey struct {
	Source, Place, KeyID, Fault string
	Records, Older, Unreadable  int
}

// secretsKey reads how the key of Secrets is.
func (n *node) secretsKey() shownKey {
	n.t.Helper()
	var answer struct{ SecretsKey shownKey }
	n.curl("/v1/node").into(n, &answer)
	return answer.SecretsKey
}

func (n *node) waitKey(what string, is func(shownKey) bool) {
	n.t.Helper()
	var last shownKey
	n.eventually(what, func() bool {
		last = n.secretsKey()
		return is(last)
	})
	if n.t.Failed() {
		n.t.Logf("the key is %+v", last)
	}
}

const plainValue = "tr0ub4dor"

// lies looks for the value of the Secret, plain or as JSON has it, in all files of the node's disk. Volumes of pods that
// run are in memory.
func (n *node) lies() {
	n.t.Helper()
	search := []string{n.Root(), "-xdev", "-type", "f", "-exec", "grep", "-l", "-e", plainValue, "-e", "dHIwdWI0ZG9y", "{}", "+"}
	if out, err := exec.Command("find", search...).Output(); len(out) > 0 {
		n.t.Errorf("the Secret lies open in %s (%v)", out, err)
	}
}

// carries looks for the ID of a plugin's key in all records of the node.
func (n *node) carries(keyID string) []byte {
	n.t.Helper()
	out, _ := exec.Command("grep", "-rl", "-e", `"keyId":"`+keyID+`"`, filepath.Join(n.Root(), "journal")).Output()
	return out
}

func (n *node) readable() {
	n.t.Helper()
	if got := n.curl("/v1/namespaces/default/secrets/login"); !strings.Contains(got.body, "dHIwdWI0ZG9y") {
		n.t.Errorf("root is shown %s, want the Secret", got)
	}
}

// mounting prints the Secret that it mounts, each second.
func mounting(name string) string {
	return strings.Replace(shell(name, `while :; do cat /login/password; echo; sleep 1; done`).yaml(), "    args:\n", `    volumeMounts:
    - {name: login, mountPath: /login}
    args:
`, 1) + "  volumes:\n  - {name: login, secret: {secretName: login}}\n"
}

// taker takes the Secret into its environment, if it is there.
func taker(name string) string {
	return strings.Replace(shell(name, `echo "got $P"; exec sleep 1000`).yaml(), "    args:\n", `    env:
    - {name: P, valueFrom: {secretKeyRef: {name: login, key: password, optional: true}}}
    args:
`, 1)
}

func (n *node) logHas(pod, text string) {
	n.t.Helper()
	n.eventually(pod+" prints "+text, func() bool {
		return strings.Contains(n.curl("/v1/namespaces/default/pods/"+pod+"/containers/main/logs").body, text)
	})
}

// plugin starts a KMS plugin.
func plugin(t *testing.T) *kms.Plugin {
	t.Helper()
	dir, err := os.MkdirTemp("", "kms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := kms.New(filepath.Join(dir, "s"), "seed", "one")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func keptIn(source string) func(*agent.Config) {
	return func(c *agent.Config) { c.Flags = append(c.Flags, "--secrets-key="+source) }
}

const login = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: " + plainValue + "}\n"

func TestAKMSPluginKeepsTheKeyOfSecrets(t *testing.T) {
	claim.Shows(t, "ConfigMaps and Secrets",
		"Secrets may be sealed through a KMS v2 plugin: while it is away all that runs goes on, a pod that needs a Secret waits and names the socket, and it starts once the plugin is back",
		"kubelet key rotate seals all Secrets again, and no file of the node needs the old key or holds a value",
	)
	p := plugin(t)
	n := start(t, keptIn("kms:unix://"+p.Socket))
	n.apply(login)
	n.apply(mounting("reader") + "---\n" + shell("plain", "exec sleep 1000").yaml())
	n.waitRunning("plain")
	n.waitRunning("reader")
	n.logHas("reader", plainValue)
	if k := n.secretsKey(); k.Source != "kms:unix://"+p.Socket || k.KeyID != "one" || k.Records != 1 || k.Older+k.Unreadable != 0 || k.Fault != "" {
		t.Errorf("the key is %+v, want that of the plugin", k)
	}
	n.Kill()
	n.lies()
	n.up()
	n.readable()

	n.pluginAway(p)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	n.waitRunning("late")
	n.logHas("late", "got "+plainValue)
	n.waitKey("the key is back", func(k shownKey) bool { return k.Fault == "" && k.Unreadable == 0 && k.KeyID == "one" })
	n.readable()
	n.unmoved("reader", "plain")

	n.pluginRotates(p)
}

// pluginAway ends the plugin and the agent, and expects an agent that does without it.
func (n *node) pluginAway(p *kms.Plugin) {
	n.t.Helper()
	p.Stop()
	n.Kill()
	n.up()
	n.unmoved("reader", "plain")
	if got := n.curl("/v1/namespaces/default/secrets/login"); got.code != 503 || !strings.Contains(got.body, p.Socket) {
		n.t.Errorf("without the plugin root is shown %s, want 503 with the socket", got)
	}
	if got := n.curl("/v1/namespaces/default/secrets"); got.code != 200 || !strings.Contains(got.body, `"login"`) {
		n.t.Errorf("without the plugin the list is %s, want the Secret's name", got)
	}
	n.waitKey("its fault names the socket", func(k shownKey) bool { return k.Unreadable == 1 && strings.Contains(k.Fault, p.Socket) })
	n.apply(taker("late") + "---\n" + shell("other", "exec sleep 1000").yaml())
	n.waitRunning("other")
	n.wait("late", "it waits and names the socket", func(pod *corev1.Pod) bool {
		w := containerStatus(pod, "main").State.Waiting
		return w != nil && w.Reason == "CreateContainerConfigError" && strings.Contains(w.Message, p.Socket)
	})
	if out, _, code := n.command("", n.Binary, "key", "rotate", "--socket", n.Socket); code == 0 {
		n.t.Errorf("without the plugin keys were rotated: %s", out)
	}
}

// pluginRotates gives the plugin another key, and ends the agent while it takes that over.
func (n *node) pluginRotates(p *kms.Plugin) {
	n.t.Helper()
	p.Use("two")
	encrypted := p.Calls("Encrypt")
	release := p.Hold()
	rotation := exec.Command(n.Binary, "key", "rotate", "--socket", n.Socket)
	if err := rotation.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.eventually("the agent asks for another data key", func() bool { return p.Calls("Encrypt") > encrypted })
	n.Kill()
	release()
	_ = rotation.Wait() // its node is gone
	n.up()
	n.readable()
	out, failed, code := n.command("", n.Binary, "key", "rotate", "--socket", n.Socket)
	if code != 0 || !strings.Contains(out, "key         two\n") || !strings.Contains(out, "older key   0\n") {
		n.t.Errorf("rotate: got code %d, %q, %q", code, out, failed)
	}
	if left := n.carries("one"); len(left) > 0 || len(n.carries("two")) == 0 {
		n.t.Errorf("records of key one are left: %s", left)
	}
	p.Retire("one")
	n.Kill()
	n.lies()
	n.up()
	n.readable()
	n.unmoved("reader", "plain")
}

func TestTheKeyOfSecretsMovesToAFileThatMayBeAway(t *testing.T) {
	claim.Shows(t, "ConfigMaps and Secrets",
		"the key of Secrets moves from the file beside the journal to a file elsewhere with a restart, and the file beside it is removed",
		"a key file that is missing is named with what to do, by the API and by kubelet check, and needs no restart once it is back",
	)
	n := start(t)
	n.apply(login)
	n.apply(mounting("reader"))
	n.waitRunning("reader")
	n.logHas("reader", plainValue)
	old := n.secretsKey().KeyID
	usb := t.TempDir()
	file := filepath.Join(usb, "key")
	if err := os.WriteFile(file, []byte("a key of exactly thirty-two bytes"[:32]), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	keptIn("file:" + file)(&n.Config)
	n.up()
	n.waitKey("all is sealed with the file's key", func(k shownKey) bool { return k.Place == file && k.KeyID != old && k.Older == 0 && k.Fault == "" })
	n.eventually("the key beside the journal is gone", func() bool {
		_, err := os.Stat(filepath.Join(n.Root(), "secrets.key"))
		return os.IsNotExist(err)
	})
	n.readable()
	n.unmoved("reader")

	n.Kill()
	n.lies()
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	n.up()
	n.unmoved("reader")
	if got := n.curl("/v1/namespaces/default/secrets/login"); got.code != 503 || !strings.Contains(got.body, file+" is missing; mount") {
		t.Errorf("without the file root is shown %s, want 503 with the file and what to do", got)
	}
	out, _, code := n.command("", n.Binary, "check", "--container-runtime-endpoint", n.Endpoint, "--root-dir", n.Root(), "--secrets-key=file:"+file)
	if code != 1 || !strings.Contains(out, file+" is missing; mount") {
		t.Errorf("kubelet check: got %d %s", code, out)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	n.eventually("the Secret is readable again", func() bool { return n.curl("/v1/namespaces/default/secrets/login").code == 200 })

	before := keyBytes(t, file)
	if out, failed, code := n.command("", n.Binary, "key", "rotate", "--socket", n.Socket); code != 0 || keyBytes(t, file) == before {
		t.Errorf("rotate: got code %d, %q, %q; want another key in the file", code, out, failed)
	}
	n.readable()
	n.unmoved("reader")
}

func keyBytes(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(raw)
}

func TestTheKeyOfSecretsMayBeACredentialOfSystemd(t *testing.T) {
	claim.Shows(t, "ConfigMaps and Secrets",
		"the key of Secrets may be a credential of systemd, and changes with a restart while the one before it is handed over, too",
	)
	dir := t.TempDir()
	hand := func(name, key string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(key), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	const one, two = "the first key of thirty-two bytes", "another one, of thirty-two bytes"
	hand("secrets-key", one[:32])
	n := start(t, keptIn("credential:secrets-key"), func(c *agent.Config) { // with the environment that systemd gives to the agent
		text := fmt.Sprintf("#!/bin/sh\nCREDENTIALS_DIRECTORY=%s exec %s \"$@\"\n", dir, c.Binary)
		if c.Binary = filepath.Join(t.TempDir(), "kubelet"); os.WriteFile(c.Binary, []byte(text), 0o700) != nil {
			t.Fatal("cannot write the agent's start")
		}
	})
	n.apply(login)
	old := n.secretsKey()
	if old.Source != "credential:secrets-key" || old.Records != 1 || old.Fault != "" {
		t.Errorf("the key is %+v, want the credential", old)
	}
	if _, failed, code := n.command("", n.Binary, "key", "rotate", "--socket", n.Socket); code != 1 || !strings.Contains(failed, "secrets-key.old") {
		t.Errorf("rotate: got code %d, %q; want what to do instead", code, failed)
	}
	n.Kill()
	if err := os.Rename(filepath.Join(dir, "secrets-key"), filepath.Join(dir, "secrets-key.old")); err != nil {
		t.Fatal(err)
	}
	hand("secrets-key", two[:32])
	n.up()
	n.waitKey("all is sealed with the new credential", func(k shownKey) bool { return k.KeyID != old.KeyID && k.Older == 0 && k.Fault == "" })
	n.eventually("the change has ended", func() bool { return strings.Contains(n.events(), "SecretsKeyChanged") })
	n.Kill()
	n.lies()
	if err := os.Remove(filepath.Join(dir, "secrets-key.old")); err != nil {
		t.Fatal(err)
	}
	n.up()
	n.readable()
}

func (n *node) events() string { return n.curl("/v1/events").body }
