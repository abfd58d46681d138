// Command testimage is the only program in the test images. As PID 1 of a container it behaves as a
// test needs:
//
//	pause              wait for SIGTERM, and reap orphans
//	exit CODE [AFTER]  exit with CODE, after a while
//	echo LINE...       print each line and exit
//	http PORT          answer every request with the host name
//	https PORT         the same over TLS, with a certificate that no client should trust
//	log BYTES          print that many bytes, in numbered lines of 100, and exit
//	tick EVERY         print a counter line at each interval
//	flood RATE         print that many numbered lines a second
//	trap AFTER CODE    print "ready"; at SIGTERM, wait for AFTER and exit with CODE
//	ignore             ignore SIGTERM, and print "ready"
//	append FILE LINE   add a line to a file and then pause
//	health PORT FILE   answer gRPC health checks: serving until the file exists
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"
)

var commands = map[string]func(args []string) (code int, err error){
	"pause":  pause,
	"exit":   exit,
	"echo":   echo,
	"http":   serve,
	"https":  serveTLS,
	"log":    writeLog,
	"tick":   tick,
	"flood":  flood,
	"trap":   trap,
	"ignore": ignore,
	"append": appendLine,
	"health": health,
}

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		code = 125
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) == 0 {
		return 0, errors.New("no command given")
	}
	command, ok := commands[args[0]]
	if !ok {
		return 0, fmt.Errorf("unknown command %q", args[0])
	}
	// A test may omit trailing arguments; an empty string then fails to parse, with a message that
	// names it.
	return command(slices.Concat(args[1:], make([]string, 2)))
}

// onTerm delivers SIGTERM and SIGINT. PID 1 gets only signals that it asks for.
func onTerm() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	return c
}

func pause([]string) (int, error) {
	term := onTerm()
	orphans := make(chan os.Signal, 1)
	signal.Notify(orphans, syscall.SIGCHLD)
	for {
		select {
		case <-term:
			return 0, nil
		case <-orphans:
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}
}

func exit(args []string) (int, error) {
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return 0, err
	}
	if args[1] == "" {
		return code, nil
	}
	after, err := time.ParseDuration(args[1])
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(after):
		return code, nil
	case <-onTerm():
		return 143, nil
	}
}

func echo(args []string) (int, error) {
	for _, line := range args[:len(args)-2] {
		fmt.Println(line)
	}
	return 0, nil
}

func serve(args []string) (int, error) {
	if err := answerName(); err != nil {
		return 0, err
	}
	server := &http.Server{Addr: ":" + args[0]}
	return untilTerm(server.ListenAndServe)
}

func serveTLS(args []string) (int, error) {
	certificate, err := untrusted()
	if err := errors.Join(err, answerName()); err != nil {
		return 0, err
	}
	server := &http.Server{Addr: ":" + args[0], TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	return untilTerm(func() error { return server.ListenAndServeTLS("", "") })
}

// answerName makes the server answer every request with the host name.
func answerName() error {
	host, err := os.Hostname()
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, host) })
	return err
}

// untrusted returns a certificate without an authority, for another name, that expired a day ago.
func untrusted() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"elsewhere.example"},
		NotBefore: yesterday.Add(-time.Hour), NotAfter: yesterday,
	}
	raw, err := x509.CreateCertificate(rand.Reader, certificate, certificate, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, err
}

// health implements the part of gRPC that a health check needs: HTTP/2, one message in a frame, and
// the status in a trailer.
func health(args []string) (int, error) {
	http.HandleFunc("POST /grpc.health.v1.Health/Check", func(w http.ResponseWriter, _ *http.Request) {
		serving := byte(1)
		if _, err := os.Stat(args[1]); err == nil {
			serving = 2 // NOT_SERVING
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		w.Write([]byte{0, 0, 0, 0, 2, 0x08, serving})
		w.Header().Set("Grpc-Status", "0")
	})
	server := &http.Server{Addr: ":" + args[0], Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	return untilTerm(server.ListenAndServe)
}

func untilTerm(serve func() error) (int, error) {
	failed := make(chan error, 1)
	go func() { failed <- serve() }()
	select {
	case err := <-failed:
		return 0, err
	case <-onTerm():
		return 0, nil
	}
}

func writeLog(args []string) (int, error) {
	total, err := strconv.Atoi(args[0])
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for n := range (total + 99) / 100 {
		fmt.Fprintf(out, "%099d\n", n)
	}
	return 0, out.Flush()
}

func tick(args []string) (int, error) {
	every, err := time.ParseDuration(args[0])
	if err != nil {
		return 0, err
	}
	term := onTerm()
	for n := 0; ; n++ {
		fmt.Println("tick", n)
		select {
		case <-term:
			return 0, nil
		case <-time.After(every):
		}
	}
}

// flood prints the lines that are due a hundred times a second, so that a busy machine prints as
// many.
func flood(args []string) (int, error) {
	rate, err := strconv.Atoi(args[0])
	if err != nil {
		return 0, err
	}
	term, beat, out := onTerm(), time.Tick(10*time.Millisecond), bufio.NewWriterSize(os.Stdout, 64<<10)
	for begun, n := time.Now(), 0; ; {
		select {
		case <-term:
			return 0, nil
		case now := <-beat:
			for due := int(now.Sub(begun).Seconds() * float64(rate)); n < due; n++ {
				fmt.Fprintf(out, "level=info msg=\"a line as programs write them\" request=%d took=%dms path=/things/%d\n", n, n%97, n%1009)
			}
			if err := out.Flush(); err != nil {
				return 0, err
			}
		}
	}
}

func trap(args []string) (int, error) {
	after, err := time.ParseDuration(args[0])
	if err != nil {
		return 0, err
	}
	code, err := strconv.Atoi(args[1])
	if err != nil {
		return 0, err
	}
	term := onTerm()
	fmt.Println("ready")
	<-term
	fmt.Println("terminating")
	time.Sleep(after)
	return code, nil
}

func ignore([]string) (int, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour)
	}
}

func appendLine(args []string) (int, error) {
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintln(f, args[1]); err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	return pause(nil)
}
