#!/usr/bin/env ruby
# frozen_string_literal: true

require "bigdecimal"
require "date"
require "forwardable"

# A little language for restaurant menus. It reads like the menu itself:
#
#   menu = Carte.menu "Chez Amélie" do
#     section "Starters" do
#       dish "Onion soup", 6.50, tags: %i[vegetarian] do
#         contains :milk, :gluten
#         note "served with a slice of toasted bread"
#       end
#     end
#   end
#
#   puts menu.to_text
module Carte
  ALLERGENS = {
    gluten: "A", egg: "C", fish: "D", peanut: "E",
    soy: "F", milk: "G", nuts: "H", celery: "L"
  }.freeze

  DEFAULT_WIDTH = 48
  DAYS = Date::DAYNAMES.map { |name| name.downcase.to_sym }.freeze

  class Error < StandardError; end

  class UnknownAllergenError < Error
    attr_reader :allergen

    def initialize(allergen)
      @allergen = allergen
      super("unknown allergen #{allergen.inspect}, " \
            "expected one of #{ALLERGENS.keys.join(', ')}")
    end
  end

  # Adds class-level +setting+ declarations that work both as reader and as
  # writer inside a block: <tt>note "hot"</tt> sets, <tt>note</tt> gets.
  module Settings
    def self.included(base)
      base.extend(ClassMethods)
    end

    module ClassMethods
      def setting(name, default: nil, &convert)
        convert ||= :itself.to_proc
        ivar = :"@#{name}"

        define_method(name) do |*args|
          case args.length
          when 0 then instance_variable_get(ivar) || default
          when 1 then instance_variable_set(ivar, convert.call(args.first))
          else raise ArgumentError, "#{name} takes one value, got #{args.length}"
          end
        end
      end
    end
  end

  Price = Struct.new(:cents) do
    include Comparable

    def self.from(value)
      return value if value.is_a?(Price)

      new((BigDecimal(value.to_s) * 100).round)
    end

    def <=>(other) = cents <=> other.cents
    def +(other) = Price.new(cents + other.cents)
    def discount(percent) = Price.new((cents * (100 - percent) / 100.0).round)
    def to_s = format("%d.%02d €", *cents.divmod(100))
  end

  class Dish
    include Settings

    attr_reader :name, :price, :tags, :allergens

    setting :note
    setting(:spiciness, default: 0) { |level| Integer(level).clamp(0, 3) }

    def initialize(name, price, tags: [], &block)
      @name = name
      @price = Price.from(price)
      @tags = tags
      @allergens = []
      @days = DAYS
      instance_eval(&block) if block
    end

    def contains(*names)
      names.each do |name|
        raise UnknownAllergenError, name unless ALLERGENS.key?(name)

        @allergens |= [name]
      end
    end

    def only_on(*days)
      unknown = days - DAYS
      raise Error, "no such day: #{unknown.join(', ')}" unless unknown.empty?

      @days = days
    end

    def available?(date)
      @days.include?(DAYS[date.wday])
    end

    def method_missing(name, *args)
      tag = name.to_s
      return super unless tag.end_with?("?") && args.empty?

      tags.include?(tag.chomp("?").to_sym)
    end

    def respond_to_missing?(name, include_private = false)
      name.end_with?("?") || super
    end

    def label
      codes = allergens.map { |allergen| ALLERGENS.fetch(allergen) }.sort
      parts = [name]
      parts << "🌶" * spiciness if spiciness.positive?
      parts << "(#{codes.join(',')})" if codes.any?
      parts.join(" ")
    end
  end

  class Section
    extend Forwardable
    include Enumerable

    attr_reader :title

    def_delegators :@dishes, :each, :empty?, :size

    def initialize(title, &block)
      @title = title
      @dishes = []
      instance_eval(&block) if block
    end

    def dish(name, price, **options, &block)
      if any? { |existing| existing.name.casecmp?(name) }
        raise Error, "#{name} is on the menu twice"
      end

      @dishes << Dish.new(name, price, **options, &block)
    end
  end

  class Menu
    include Enumerable
    include Settings

    setting(:width, default: DEFAULT_WIDTH) { |value| Integer(value) }
    setting :happy_hour

    attr_reader :name, :sections

    def initialize(name, &block)
      @name = name
      @sections = []
      instance_eval(&block)
    end

    def section(title, &block)
      @sections << Section.new(title, &block)
    end

    # Yields every dish, section by section.
    def each(&block)
      return enum_for(:each) unless block

      sections.each { |section| section.each(&block) }
    end

    def without(*allergens)
      reject { |dish| dish.allergens.intersect?(allergens) }
    end

    def price_of(dish, at: Time.now)
      return dish.price unless happy_hour&.cover?(at.hour)

      dish.price.discount(20)
    end

    def to_text(date: Date.today)
      lines = [name.center(width).rstrip, "=" * width]
      sections.each do |section|
        dishes = section.select { |dish| dish.available?(date) }
        next if dishes.empty?

        lines << "" << "~ #{section.title} ~".center(width).rstrip
        dishes.sort_by(&:price).each do |dish|
          lines << leader(dish.label, dish.price.to_s)
          lines << "  #{dish.note}" if dish.note
        end
      end
      lines.join("\n")
    end

    private

    # TODO: emoji are two columns wide in most terminals, String#ljust counts one
    def leader(left, right)
      "#{left} ".ljust(width - right.length - 1, ".") + " #{right}"
    end
  end

  def self.menu(name, &block)
    raise ArgumentError, "a menu needs a block" unless block

    Menu.new(name, &block)
  end
end

if $PROGRAM_NAME == __FILE__
  menu = Carte.menu "Chez Amélie" do
    width 52
    happy_hour 17...19

    section "Starters" do
      dish "Onion soup", 6.50, tags: %i[vegetarian] do
        contains :milk, :gluten
        note "served with a slice of toasted bread"
      end
      dish "Smoked trout", "9.80" do
        contains :fish
      end
    end

    section "Mains" do
      dish "Peanut stew", 13, tags: %i[vegan vegetarian] do
        contains :peanut, :celery
        spiciness 2
      end
      dish("Sunday roast", 18.90) { only_on :sunday }
    end
  end

  puts menu.to_text
  vegan = menu.select(&:vegan?).map(&:name)
  puts <<~SUMMARY

    #{menu.count} dishes, #{vegan.size} of them vegan (#{vegan.join(', ')}).
    Without milk and fish: #{menu.without(:milk, :fish).map(&:name).join(' / ')}
  SUMMARY
end
