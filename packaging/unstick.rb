# A template: `make dist` writes dist/unstick.rb. Test: brew install --build-from-source ./dist/unstick.rb && brew test unstick
class Unstick < Formula
  include Language::Python::Virtualenv

  desc "Find, explain and repair stuck tasks in PostgreSQL task engines"
  homepage "@ADDRESS@"
  url "@FILES@/unstick-@VERSION@.tar.gz"
  sha256 "@SHA256_SDIST@"
  license "MIT"

  depends_on "python@3.13"

@RESOURCES@
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
