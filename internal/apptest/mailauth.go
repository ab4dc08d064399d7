package apptest

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// errBadCredentials is the answer to a wrong user or password.
var errBadCredentials = &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "who are you?"}

// AuthMechanisms implements smtp.AuthSession.
func (s *mailSession) AuthMechanisms() []string {
	switch {
	case s.box.User == "":
		return nil
	case s.box.AuthMechanisms != nil:
		return s.box.AuthMechanisms
	}
	return []string{sasl.Plain}
}

// Auth implements smtp.AuthSession.
func (s *mailSession) Auth(way string) (sasl.Server, error) {
	enter := func(user string, proven bool) error {
		if user != s.box.User || !proven {
			return errBadCredentials
		}
		s.mail.User, s.mail.AuthMechanism = user, way
		return nil
	}
	password := s.box.Password
	switch way {
	case sasl.Plain:
		return sasl.NewPlainServer(func(_, user, given string) error { return enter(user, given == password) }), nil
	case sasl.Login:
		return saslSteps{
			func([]byte) ([]byte, error) { return []byte("Username:"), nil },
			func(user []byte) ([]byte, error) { s.claimed = string(user); return []byte("Password:"), nil },
			func(given []byte) ([]byte, error) { return nil, enter(s.claimed, string(given) == password) },
		}.server(), nil
	case "CRAM-MD5": // RFC 2195
		const challenge = "<1.2@mail.test>"
		return saslSteps{
			func([]byte) ([]byte, error) { return []byte(challenge), nil },
			func(answer []byte) ([]byte, error) {
				user, proof, _ := strings.Cut(string(answer), " ")
				mac := hmac.New(md5.New, []byte(password))
				mac.Write([]byte(challenge))
				return nil, enter(user, proof == hex.EncodeToString(mac.Sum(nil)))
			},
		}.server(), nil
	case "SCRAM-SHA-256":
		return scram(password, s.box.Iterations, enter), nil
	}
	return nil, errors.New("unknown way: " + way)
}

// scram is the server's side of RFC 5802 without channel binding.
func scram(password string, iterations int, enter func(user string, proven bool) error) sasl.Server {
	var user, said string
	salted, err := pbkdf2.Key(sha256.New, password, []byte("salt"), 4096, 32)
	if err != nil {
		panic(err)
	}
	sum := func(key []byte, text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	return saslSteps{
		func([]byte) ([]byte, error) { return nil, nil },
		func(first []byte) ([]byte, error) {
			bare := strings.TrimPrefix(string(first), "n,,")
			name, nonce, _ := strings.Cut(strings.TrimPrefix(bare, "n="), ",r=")
			user = name
			if iterations == 0 {
				iterations = 4096
			}
			answer := fmt.Sprintf("r=%s-server,s=%s,i=%d", nonce, base64.StdEncoding.EncodeToString([]byte("salt")),
				iterations)
			said = bare + "," + answer
			return []byte(answer), nil
		},
		func(final []byte) ([]byte, error) {
			without, proof, _ := strings.Cut(string(final), ",p=")
			said += "," + without
			key := sum(salted, "Client Key")
			stored := sha256.Sum256(key)
			for i, b := range sum(stored[:], said) {
				key[i] ^= b
			}
			if err := enter(user, proof == base64.StdEncoding.EncodeToString(key)); err != nil {
				return nil, err
			}
			return []byte("v=" + base64.StdEncoding.EncodeToString(sum(sum(salted, "Server Key"), said))), nil
		},
		func([]byte) ([]byte, error) { return nil, nil },
	}.server()
}

// saslSteps are the server's answers to the client's messages. The client is authenticated after
// the last one.
type saslSteps []func(heard []byte) ([]byte, error)

func (s saslSteps) server() sasl.Server { return &saslServer{left: s} }

type saslServer struct{ left saslSteps }

// Next implements sasl.Server.
func (s *saslServer) Next(heard []byte) (challenge []byte, done bool, err error) {
	step := s.left[0]
	s.left = s.left[1:]
	challenge, err = step(heard)
	return challenge, len(s.left) == 0, err
}
