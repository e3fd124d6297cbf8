# Test: brew install --build-from-source ./packaging/unstick.rb && brew test unstick
# Before a release: set url and sha256 from dist/SHA256SUMS, then brew update-python-resources packaging/unstick.rb
class Unstick < Formula
  include Language::Python::Virtualenv

  desc "Find, explain and repair stuck tasks in PostgreSQL task engines"
  homepage "https://pypi.org/project/unstick/"
  url "https://files.pythonhosted.org/packages/source/u/unstick/unstick-0.2.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
    man1.install libexec/"share/man/man1/unstick.1"
    bash_completion.install libexec/"share/bash-completion/completions/unstick"
    zsh_completion.install libexec/"share/zsh/site-functions/_unstick"
    fish_completion.install libexec/"share/fish/vendor_completions.d/unstick.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/unstick --version")
  end
end
